import { schemaHash } from "../json-schema/schema-hash.js";
import type { McpToolInfo } from "../config/tool-info.js";

/** What is known of a server's tools: nothing, then what it or a store last said. */
export class KnownTools {
  readonly #onChange: () => void;
  #tools: readonly McpToolInfo[] | undefined;
  #first: readonly McpToolInfo[] | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** `undefined` when nothing is known, which is not the same as none. */
  get tools(): readonly McpToolInfo[] | undefined {
    return this.#tools;
  }

  /** What was known first. */
  get first(): readonly McpToolInfo[] | undefined {
    return this.#first;
  }

  take(tools: readonly McpToolInfo[]): void {
    const before = this.#tools;
    this.#tools = tools;
    this.#first ??= tools;
    if (before === undefined || !isSame(before, tools)) this.#onChange();
  }
}

/**
 * A list that has not been listed again is the same object: nothing of it needs to be read. One that
 * cannot be read, which a store may have given, is like no other.
 */
function isSame(before: readonly McpToolInfo[], now: readonly McpToolInfo[]): boolean {
  try {
    return before === now || schemaHash(before) === schemaHash(now);
  } catch {
    return false;
  }
}
