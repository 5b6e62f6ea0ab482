import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { GraphTask } from "../tools/graph-task.js";

/** The key of the decisions of `mcpMiddleware` in the state of an agent. */
export const DECISIONS_KEY = "_mcpDecisions";

/** What LangChain and this middleware pass from one task of an agent to the next. */
const TASK_KEYS: ReadonlySet<string> = new Set(["jumpTo", "lg_tool_call", DECISIONS_KEY]);

/**
 * Reads the whole state of an agent. LangChain passes a hook only the keys in the `stateSchema` of its middleware. The
 * functions of rules, filters and hooks receive all of them: a guard would permit a call if the key that it reads were
 * missing.
 */
export class AgentStateReader {
  /** The keys of all states that were read. LangGraph skips those that an agent does not have. */
  readonly #keys = new Set<string>();

  /** Returns the config of the run for `wrapModelCall` and `wrapToolCall`: the input of their task is the whole state. */
  toConfig(): RunnableConfig {
    const { config, task } = getRun();
    const { input } = task;
    if (!isPlainObject(input)) return withState(config, undefined);
    this.#addKeys(Object.keys(input));
    // Other middleware may send a call to the tools with a part of the state.
    return withState(config, { ...task.readState([...this.#keys]), ...input });
  }

  /**
   * Returns the config of the run for `afterModel`, whose task has only a part of the state as its input. A process that
   * has not called the model of the agent finds the keys of the state in the checkpoint that it resumes.
   */
  async loadConfig(): Promise<RunnableConfig> {
    const { config, task } = getRun();
    if (task.isResumed || this.#keys.size === 0) {
      this.#addKeys((await task.readSavedChannels()) ?? []);
    }
    return withState(config, this.#keys.size === 0 ? undefined : task.readState([...this.#keys]));
  }

  #addKeys(keys: readonly string[]): void {
    for (const key of keys) if (!TASK_KEYS.has(key)) this.#keys.add(key);
  }
}

/** Middleware hooks receive only a part of the run's config; LangGraph has the whole config in async storage. */
function getRun(): { readonly config: RunnableConfig; readonly task: GraphTask } {
  const config = (AsyncLocalStorageProviderSingleton.getRunnableConfig() ?? {}) as RunnableConfig;
  return { config, task: new GraphTask(config) };
}

function withState(config: RunnableConfig, whole: JsonObject | undefined): RunnableConfig {
  const entries = Object.entries(whole ?? {}).filter(([key]) => !TASK_KEYS.has(key));
  const state = whole === undefined ? UNREADABLE_STATE : Object.fromEntries(entries);
  return { ...config, state } as RunnableConfig;
}

function failToRead(): never {
  const text =
    "The state of the agent cannot be read: LangGraph has not passed it to mcpMiddleware. Update langchain and @langchain/langgraph.";
  throw new McpRuntimeError("denied", text);
}

/** Functions that do not read the state work with it; the others fail, and what they decide about is denied. */
const UNREADABLE_STATE: object = new Proxy(
  {},
  { get: failToRead, has: failToRead, ownKeys: failToRead, getOwnPropertyDescriptor: failToRead },
);
