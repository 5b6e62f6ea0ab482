import { type ToolCall, ToolMessage } from "@langchain/core/messages/tool";
import type { RunnableConfig } from "@langchain/core/runnables";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { McpTool } from "../tools/mcp-tool.js";
import { ALWAYS_THROWN, EMPTY_ARTIFACT, toToolFailure } from "../tools/tool-failure.js";
import { filterTools, hasFilter } from "../tools/tool-filter.js";
import { belongsTo, toCallerContext } from "../toolset/mcp-toolset.js";
import type { McpToolset } from "../toolset/toolset.js";
import { SHARED_IDENTITY } from "../session/session.js";

/** A changed tool for the model to see. An agent that holds the old tool object does not accept the new one. */
type ToolDescription = Pick<McpTool, "name" | "description" | "schema">;

/** One listener for each toolset: an agent may be created for each request, and the toolset would keep its listener. */
const LISTENED_TOOLSETS = new WeakSet<McpToolset>();

const MAX_INSTRUCTIONS_CHARS = 2_000;
/** A server can list other tools each time. */
const MAX_KNOWN_NAMES = 20_000;

/** The current tools of a toolset, for agents that copied the list once. */
export class LiveToolList {
  readonly #toolset: McpToolset;
  readonly #servers: readonly string[];
  readonly #knownTools = new WeakSet<McpTool>();
  readonly #knownNames = new Set<string>();
  readonly #initialNames: ReadonlySet<string>;
  /** Whether a filter hides tools from some callers: then the answer to a call must not show which tools exist. */
  isFiltered = false;

  /** `servers`: use only the tools of these servers; if empty, of all. */
  constructor(toolset: McpToolset, servers: readonly string[]) {
    this.#toolset = toolset;
    this.#servers = servers;
    this.#initialNames = new Set(this.current.map(({ name }) => name));
    // Having a listener makes the toolset subscribe to the tool list changes of its servers.
    if (!LISTENED_TOOLSETS.has(toolset)) toolset.on("toolsChanged", () => undefined);
    LISTENED_TOOLSETS.add(toolset);
  }

  /** The tools of all callers. */
  get current(): readonly McpTool[] {
    const tools = this.#toolset.getTools(...this.#servers);
    for (const tool of tools) {
      this.#knownTools.add(tool);
      this.#knownNames.add(tool.name);
      this.isFiltered ||= hasFilter(tool);
    }
    for (const oldest of this.#knownNames) {
      if (this.#knownNames.size <= MAX_KNOWN_NAMES) break;
      this.#knownNames.delete(oldest);
    }
    return tools;
  }

  /** The tools that the servers offer to the caller of this config, and that it may see. */
  async listFor(config: RunnableConfig): Promise<readonly McpTool[]> {
    if (this.#isSameForAllCallers(config)) return filterTools(this.current, config);
    const tools = await this.#toolset.toolsFor(config);
    const servers = this.#servers;
    return servers.length === 0 ? tools : tools.filter((tool) => belongsTo(tool, servers));
  }

  /** Like `listFor`. While a server cannot be listed, the shared tools that the caller may see: others must stay usable. */
  async listAvailable(config: RunnableConfig): Promise<readonly McpTool[]> {
    try {
      return await this.listFor(config);
    } catch (error) {
      if (!(error instanceof McpRuntimeError) || ALWAYS_THROWN.has(error.kind)) throw error;
      this.warn(`The tools of a caller could not be listed, so the shared ones are used: ${error.message}`);
      return filterTools(this.current, config);
    }
  }

  /** Whether no server has a list of its own for the caller of this config. */
  #isSameForAllCallers(config: RunnableConfig): boolean {
    const context = toCallerContext(config);
    return [...this.#toolset.clients].every((client) => client.identityOf({ context }) === SHARED_IDENTITY);
  }

  /** How the instructions of the servers for the caller of this config begin, by server. */
  instructionsFor(config: RunnableConfig): ReadonlyMap<string, string> {
    const entries = Object.entries<string | undefined>(this.#toolset.instructions(config));
    return new Map(entries.map(([server, text = ""]) => [server, text.slice(0, MAX_INSTRUCTIONS_CHARS)]));
  }

  /** Logs a warning that belongs to no server. */
  warn(message: string): void {
    this.#toolset.servers.serverSet.settings.warn(message);
  }

  /** Finds a tool that the run of this config may see, also one that a server offers only to its caller. */
  async find(name: string, config: RunnableConfig): Promise<McpTool | undefined> {
    const tools = this.current.filter((tool) => tool.name === name);
    const [tool] = this.isFiltered ? await filterTools(tools, config) : tools;
    return tool ?? this.#findForCaller(name, config);
  }

  async #findForCaller(name: string, config: RunnableConfig): Promise<McpTool | undefined> {
    try {
      if (this.#isSameForAllCallers(config)) return undefined;
      return (await this.listFor(config)).find((tool) => tool.name === name);
    } catch (error) {
      this.warn(`Could not list the tools of a caller: ${printValue(error)}`);
      return undefined;
    }
  }

  /** Whether it is, or was, a tool of this toolset. */
  isToolsetTool(tool: unknown): tool is McpTool {
    return tool instanceof McpTool && this.#knownTools.has(tool);
  }

  /** Whether the toolset had this tool when the list was created. */
  isInitial(name: string): boolean {
    return this.#initialNames.has(name);
  }

  /** Whether a tool that was not found did exist. */
  wasRemoved(name: string): boolean {
    return this.#knownNames.has(name);
  }

  /**
   * Updates the toolset's tools in an agent's list: changed ones are replaced, removed ones dropped, new ones
   * appended. An initial tool that the agent does not have is not added: it was left out on purpose. Those that the
   * run of this config may not see are dropped.
   */
  async update<Tool>(
    tools: readonly Tool[],
    config: RunnableConfig,
  ): Promise<(Tool | McpTool | ToolDescription)[]> {
    const current = await filterTools(this.current, config);
    const kept = tools.flatMap((tool): (Tool | ToolDescription)[] => {
      if (!this.isToolsetTool(tool)) return [tool];
      const latest = current.find(({ name }) => name === tool.name);
      if (latest === undefined) return [];
      if (latest === tool) return [tool];
      const { name, description, schema } = latest;
      return [{ name, description, schema }];
    });
    const names = new Set(kept.map((tool) => Reflect.get(Object(tool), "name")));
    return [...kept, ...current.filter(({ name }) => !this.isInitial(name) && !names.has(name))];
  }

  /** The result of a call of a tool that was removed, that never existed or that the caller may not see. */
  missingToolMessage(call: ToolCall): ToolMessage {
    const problem = this.isFiltered ? "does not exist" : "no longer exists";
    const content = `The tool "${call.name}" ${problem} and was not called. Continue without it.`;
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
