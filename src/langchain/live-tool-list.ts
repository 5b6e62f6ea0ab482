import { type ToolCall, ToolMessage } from "@langchain/core/messages";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { McpTool } from "../tools/mcp-tool.js";
import { EMPTY_ARTIFACT, toToolFailure } from "../tools/tool-failure.js";
import type { McpToolset } from "../toolset/mcp-toolset.js";

/** A changed tool for the model to see. An agent that holds the old tool object does not accept the new one. */
type ToolDescription = Pick<McpTool, "name" | "description" | "schema">;

/** One listener for each toolset: an agent may be created for each request, and the toolset would keep its listener. */
const LISTENED_TOOLSETS = new WeakSet<McpToolset>();

/** The current tools of a toolset, for agents that copied the list once. */
export class LiveToolList {
  readonly #list: () => readonly McpTool[];
  readonly #knownTools = new WeakSet<McpTool>();
  readonly #knownNames = new Set<string>();
  readonly #initialNames: ReadonlySet<string>;

  /** `servers`: use only the tools of these servers; if empty, of all. */
  constructor(toolset: McpToolset, servers: readonly string[]) {
    this.#list = () => toolset.getTools(...servers);
    this.#initialNames = new Set(this.current.map(({ name }) => name));
    // Having a listener makes the toolset subscribe to the tool list changes of its servers.
    if (!LISTENED_TOOLSETS.has(toolset)) toolset.on("toolsChanged", () => undefined);
    LISTENED_TOOLSETS.add(toolset);
  }

  get current(): readonly McpTool[] {
    const tools = this.#list();
    for (const tool of tools) {
      this.#knownTools.add(tool);
      this.#knownNames.add(tool.name);
    }
    return tools;
  }

  find(name: string): McpTool | undefined {
    return this.current.find((tool) => tool.name === name);
  }

  /** Whether it is, or was, a tool of this toolset. */
  isToolsetTool(tool: unknown): tool is McpTool {
    return tool instanceof McpTool && this.#knownTools.has(tool);
  }

  wasRemoved(name: string): boolean {
    return this.find(name) === undefined && this.#knownNames.has(name);
  }

  /**
   * Updates the toolset's tools in an agent's list: changed ones are replaced, removed ones dropped, new ones
   * appended. An initial tool that the agent does not have is not added: it was left out on purpose.
   */
  update<Tool>(tools: readonly Tool[]): (Tool | McpTool | ToolDescription)[] {
    const { current } = this;
    const kept = tools.flatMap((tool): (Tool | ToolDescription)[] => {
      if (!this.isToolsetTool(tool)) return [tool];
      const latest = current.find(({ name }) => name === tool.name);
      if (latest === undefined) return [];
      if (latest === tool) return [tool];
      const { name, description, schema } = latest;
      return [{ name, description, schema }];
    });
    const names = new Set(kept.map((tool) => Reflect.get(Object(tool), "name")));
    return [...kept, ...current.filter(({ name }) => !this.#initialNames.has(name) && !names.has(name))];
  }

  /** The result of a call of a tool that was removed. */
  removedToolMessage(call: ToolCall): ToolMessage {
    const content = `The tool "${call.name}" no longer exists and was not called. Continue without it.`;
    return toErrorMessage(call, new McpRuntimeError("not-found", content, { tool: call.name }));
  }
}

/** The result of a call whose id another call of the same message has, too. */
export function duplicateIdMessage(call: ToolCall): ToolMessage {
  const content = `The tool "${call.name}" was not called: several calls of the message have the same id. Call it again.`;
  return toErrorMessage(call, new McpRuntimeError("denied", content, { tool: call.name }));
}

function toErrorMessage({ name, id = "" }: ToolCall, failure: McpRuntimeError): ToolMessage {
  const artifact = { ...EMPTY_ARTIFACT, error: toToolFailure(failure) };
  return new ToolMessage({ status: "error", content: failure.message, tool_call_id: id, name, artifact });
}
