import { AIMessage } from "@langchain/core/messages";
import { toArray, toObject } from "../json/json.js";
import type { LiveToolList } from "./live-tool-list.js";

/** The keys in the metadata of a response under which the tools of its agent are recorded, for runs that are resumed. */
const SELECTION_KEY = "mcp_tools";
const LEFT_OUT_KEY = "mcp_left_out";

/** Which tools of the toolset an agent has. */
export interface ToolSelection {
  /** The names of all tools in the request to its model; `undefined` if another process has sent it. */
  readonly names: ReadonlySet<string> | undefined;
  /** Whether it can find the others, too: with tool search, if it was created with none. */
  readonly canFindAll: boolean;
}

/**
 * The tools that agents were created with. Several agents may share a middleware, so they are kept for each response of a
 * model.
 */
export class AgentTools {
  readonly #toolList: Pick<LiveToolList, "isInitial" | "isToolsetTool">;
  readonly #hasToolSearch: boolean;
  readonly #byResponse = new WeakMap<object, ToolSelection>();
  /** Whether an agent had tools of the toolset. Other middleware may hide all of them in a later request. */
  #hasSelection = false;

  constructor(
    toolList: Pick<LiveToolList, "isInitial" | "isToolsetTool">,
    { hasToolSearch }: { readonly hasToolSearch: boolean },
  ) {
    this.#toolList = toolList;
    this.#hasToolSearch = hasToolSearch;
  }

  /** Returns the selection of the agent that sends these tools to its model. */
  read(tools: readonly unknown[]): ToolSelection {
    this.#hasSelection ||= tools.some((tool) => this.#toolList.isToolsetTool(tool));
    return {
      names: new Set(tools.flatMap((tool) => getToolName(tool) ?? [])),
      canFindAll: this.#hasToolSearch && !this.#hasSelection,
    };
  }

  /** Keeps the selection for the calls of a response. */
  save(response: unknown, selection: ToolSelection): void {
    if (!AIMessage.isInstance(response)) return;
    this.#byResponse.set(response, selection);
    const names = (response.tool_calls ?? []).map(({ name }) => name);
    const leftOut = names.filter((name) => this.isLeftOut(name, selection));
    const record = {
      ...(selection.canFindAll && { [SELECTION_KEY]: "all" }),
      ...(leftOut.length > 0 && { [LEFT_OUT_KEY]: leftOut }),
    };
    if (Object.keys(record).length > 0)
      response.response_metadata = { ...response.response_metadata, ...record };
  }

  /**
   * Restored from the last AI message. If it has no record, tools that the agent was not created with count as left out on
   * purpose.
   */
  recall(state: unknown): ToolSelection {
    const response = findLastResponse(state);
    const saved = response && this.#byResponse.get(response);
    const isRecorded = toObject(response?.response_metadata)[SELECTION_KEY] === "all";
    return saved ?? { names: undefined, canFindAll: this.#hasToolSearch && isRecorded };
  }

  /** Whether an agent was created without this tool, on purpose. One that has appeared since then was not left out. */
  isLeftOut(name: string, { names, canFindAll }: ToolSelection): boolean {
    return !canFindAll && this.#toolList.isInitial(name) && names?.has(name) !== true;
  }
}

/** Whether a call of the last AI message was recorded as that of a tool that its agent was created without. */
export function isLeftOutCall(name: string, state: unknown): boolean {
  const { [LEFT_OUT_KEY]: leftOut } = toObject(findLastResponse(state)?.response_metadata);
  return toArray(leftOut).includes(name);
}

function findLastResponse(state: unknown): AIMessage | undefined {
  const messages = toArray(Reflect.get(Object(state), "messages"));
  return messages.findLast((message) => AIMessage.isInstance(message));
}

export function getToolName(tool: unknown): string | undefined {
  const name: unknown = Reflect.get(Object(tool), "name");
  return typeof name === "string" ? name : undefined;
}
