import { isPlainObject, type JsonObject } from "../json/json.js";
import { quoteServer } from "../errors/sanitize-text.js";
import { findParameterHeaders, toParameterHeaders } from "./parameter-headers.js";

type Headers = Extract<ReturnType<typeof findParameterHeaders>, { headers: unknown }>["headers"];

/**
 * What a server wants to see of its tools' arguments in headers, as far as its lists have said so. The
 * protocol has clients leave out a tool that asks for what no header can hold.
 */
export class ToolHeaders {
  readonly #server: string;
  readonly #onWarning: (message: string) => void;
  readonly #byTool = new Map<string, Headers>();

  constructor(server: string, onWarning: (message: string) => void) {
    this.#server = server;
    this.#onWarning = onWarning;
  }

  /** Takes a page of the list, and gives it back without the tools that cannot be called. */
  learn(page: JsonObject): JsonObject {
    const { tools } = page;
    if (!Array.isArray(tools)) return page;
    return { ...page, tools: tools.filter((tool) => this.#take(tool)) };
  }

  /** For a call; nothing where nothing is asked for, or known. */
  of({ name, arguments: args }: JsonObject): Record<string, string> | undefined {
    const headers = this.#byTool.get(String(name));
    return headers === undefined ? undefined : toParameterHeaders(headers, args);
  }

  #take(tool: unknown): boolean {
    if (!isPlainObject(tool) || typeof tool["name"] !== "string") return true;
    const { name, inputSchema } = tool;
    const found = findParameterHeaders(inputSchema);
    if ("problem" in found) {
      this.#onWarning(
        `Server "${this.#server}": tool "${quoteServer(name)}" ${found.problem} (x-mcp-header) and is left out.`,
      );
      return false;
    }
    if (found.headers.length > 0) this.#byTool.set(name, found.headers);
    else this.#byTool.delete(name);
    return true;
  }
}
