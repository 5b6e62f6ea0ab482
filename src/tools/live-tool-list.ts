import { type ToolCall, ToolMessage } from "@langchain/core/messages";
import type { JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { McpTool } from "./mcp-tool.js";
import { EMPTY_ARTIFACT, toToolFailure } from "./tool-failure.js";

/** A tool as a model is told of it, where the tool itself may not take the place of an older one. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

/** The tools of a toolset as they are now, for agents that copied them once. */
export class CurrentTools {
  readonly #list: () => readonly McpTool[];
  readonly #seen = new WeakSet<McpTool>();
  readonly #names = new Set<string>();
  readonly #first: ReadonlySet<string>;

  constructor(list: () => readonly McpTool[]) {
    this.#list = list;
    this.#first = new Set(this.current.map(({ name }) => name));
  }

  get current(): readonly McpTool[] {
    const tools = this.#list();
    for (const tool of tools) {
      this.#seen.add(tool);
      this.#names.add(tool.name);
    }
    return tools;
  }

  find(name: string): McpTool | undefined {
    return this.current.find((tool) => tool.name === name);
  }

  /** Whether it is, or once was, a tool of this toolset. */
  isOurs(tool: unknown): boolean {
    return tool instanceof McpTool && this.#seen.has(tool);
  }

  /** It was there, and is not any more. */
  isGone(name: string): boolean {
    return this.find(name) === undefined && this.#names.has(name);
  }

  /**
   * An agent's tools with those of this toolset brought up to date: changed ones as they are now, those
   * that are gone left out, those that came later at the end. Who left a tool out has meant it.
   */
  update<Tool>(tools: readonly Tool[]): (Tool | McpTool | ToolDescription)[] {
    const { current } = this;
    const kept = tools.flatMap((tool): (Tool | ToolDescription)[] => {
      if (!(tool instanceof McpTool) || !this.isOurs(tool)) return [tool];
      const now = current.find(({ name }) => name === tool.name);
      if (now === undefined) return [];
      return [now === tool ? tool : describe(now)];
    });
    const names = new Set(kept.map((tool) => Reflect.get(Object(tool), "name")));
    return [...kept, ...current.filter(({ name }) => !this.#first.has(name) && !names.has(name))];
  }

  /** What a model reads that calls a tool which is gone. */
  answerGone({ name, id = "" }: ToolCall): ToolMessage {
    const content = `There is no tool "${name}" any more, and it was not called. Do without it.`;
    const failure = new McpRuntimeError("not-found", content, { tool: name });
    const artifact = { ...EMPTY_ARTIFACT, error: toToolFailure(failure) };
    return new ToolMessage({ status: "error", content, tool_call_id: id, name, artifact });
  }
}

function describe({ name, description, schema }: McpTool): ToolDescription {
  return { name, description, schema };
}
