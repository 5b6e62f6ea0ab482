import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** Servers that may fail at the start, and why they did. */
export class OptionalServers {
  readonly failures = new Map<string, McpRuntimeError>();
  readonly #warn: (message: string) => void;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** The list of a server; an empty one where it failed and may. */
  async list(
    server: string,
    isOptional: boolean,
    listing: () => Promise<readonly McpToolInfo[]>,
  ): Promise<readonly McpToolInfo[]> {
    try {
      return await listing();
    } catch (error) {
      if (!isOptional || !(error instanceof McpRuntimeError) || error.kind === "definition") throw error;
      this.failures.set(server, error);
      this.#warn(`Optional server "${server}" is left out: ${error.message}`);
      return [];
    }
  }
}
