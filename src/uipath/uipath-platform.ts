import { isPlainObject, type JsonObject } from "../json/json.js";
import { classifyFailure } from "../errors/classify-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/sanitize-text.js";
import { toConnectionFailure, toRetryAt } from "../transports/http/http-errors.js";
import { reasonOf } from "../net/unwrap-fetch-error.js";
import type { UipathSettings } from "./uipath-settings.js";

interface UipathPlatformParts {
  readonly settings: UipathSettings;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
}

interface Question {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const FOLDERS_A_PAGE = 20;
const MOST_PAGES = 50;

/** The platform's HTTP API, as far as it tells where an MCP server is. */
export class UipathPlatform {
  readonly #parts: UipathPlatformParts;

  constructor(parts: UipathPlatformParts) {
    this.#parts = parts;
  }

  /** The key of a folder by its path from the top, `Shared/Travel`; `undefined` when the token sees none. */
  async folderKey(folderPath: string): Promise<string | undefined> {
    const path = "orchestrator_/api/FoldersNavigation/GetFoldersForCurrentUser";
    const searchText = folderPath.slice(folderPath.lastIndexOf("/") + 1);
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const query = { searchText, skip: `${page * FOLDERS_A_PAGE}`, take: `${FOLDERS_A_PAGE}` };
      const { PageItems: folders } = (await this.#get({ path, query })) ?? {};
      if (!Array.isArray(folders)) throw this.#malformed("a list of folders");
      const folder: unknown = folders.find(
        (one) => isPlainObject(one) && one["FullyQualifiedName"] === folderPath,
      );
      if (isPlainObject(folder) && typeof folder["Key"] === "string") return folder["Key"];
      if (folders.length < FOLDERS_A_PAGE) return undefined;
    }
    return undefined;
  }

  /** The address of the server with this slug in a folder; `undefined` when there is none. */
  async mcpUrl(slug: string, folderKey: string): Promise<URL | undefined> {
    const path = `agenthub_/api/servers/${encodeURIComponent(slug)}`;
    const server = await this.#get({ path, headers: { "x-uipath-folderkey": folderKey } });
    if (server === undefined) return undefined;
    const { mcpUrl } = server;
    if (typeof mcpUrl === "string" && /^https?:/.test(mcpUrl) && URL.canParse(mcpUrl)) return new URL(mcpUrl);
    throw this.#malformed("a server with an address (mcpUrl)");
  }

  /** What the platform says; `undefined` for 404. */
  async #get({ path, query = {}, headers = {} }: Question): Promise<JsonObject | undefined> {
    const { settings, fetch, signal } = this.#parts;
    const url = new URL(`${settings.base.pathname.replace(/\/+$/, "")}/${path}`, settings.base.origin);
    url.search = new URLSearchParams(query).toString();
    const sent = { accept: "application/json", ...headers, ...settings.headers };
    // A redirect could lead the token elsewhere.
    const init: RequestInit = { headers: sent, redirect: "manual", signal };
    const response = await fetch(url, init).catch((error: unknown) => {
      throw this.#toFailure(error);
    });
    if (response.status === 404) return undefined;
    const answer = parsed(await response.text());
    if (response.status !== 200) throw this.#refused(response, answer);
    if (!isPlainObject(answer)) throw this.#malformed("an answer in JSON");
    return answer;
  }

  #toFailure(error: unknown): unknown {
    const { settings, redactor, signal } = this.#parts;
    if (signal.aborted) return signal.reason;
    const reason = reasonOf(error);
    if (reason.name === "TimeoutError")
      return new McpRuntimeError("timeout", `UiPath at ${settings.base.origin} did not answer in time.`);
    return toConnectionFailure(reason, false, { server: "UiPath", origin: settings.base.origin, redactor });
  }

  #refused({ status, headers }: Response, answer: unknown): McpRuntimeError {
    const { settings, redactor } = this.#parts;
    const said = isPlainObject(answer) && typeof answer["message"] === "string" ? answer["message"] : "";
    const quoted = said === "" ? "" : `: ${quoteServer(redactor.text(said)).replace(/\.$/, "")}`;
    const text = `UiPath at ${settings.base.origin} answered HTTP ${status}${quoted}. ${adviceFor(status, settings)}`;
    const retryAt = toRetryAt(headers.get("retry-after") ?? undefined);
    const kind = classifyFailure({ status, hasRetryAfter: retryAt !== undefined });
    return new McpRuntimeError(kind, text.trim(), { status, retryAt });
  }

  #malformed(expected: string): McpRuntimeError {
    const { origin } = this.#parts.settings.base;
    const text = `UiPath at ${origin} did not answer with ${expected}. Is its address right, with organisation and tenant?`;
    return new McpRuntimeError("invalid-response", text);
  }
}

function adviceFor(status: number, { tokenFrom }: UipathSettings): string {
  if (status === 401) return `Is the token in ${tokenFrom} still valid?`;
  if (status === 403) return `May the token in ${tokenFrom} see folders and MCP servers?`;
  if (status >= 300 && status < 400)
    return "Redirects are not followed. Is its address right, with organisation and tenant?";
  return "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
