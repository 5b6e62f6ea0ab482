import { isPlainObject, type JsonObject } from "../json/json.js";
import { classifyFailure } from "../errors/classify-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { excerpt } from "../errors/sanitize-text.js";
import { fromConnectionError, toRetryAt } from "../transports/http/http-errors.js";
import { unwrapFetchError } from "../net/connect-errors.js";
import type { UipathSettings } from "./uipath-settings.js";

interface UipathPlatformDependencies {
  readonly settings: UipathSettings;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
}

interface ApiRequest {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const FOLDER_PAGE_SIZE = 20;
const MAX_PAGES = 50;

/** The part of the UiPath HTTP API that locates MCP servers. */
export class UipathPlatform {
  readonly #deps: UipathPlatformDependencies;

  constructor(deps: UipathPlatformDependencies) {
    this.#deps = deps;
  }

  /**
   * The key of a folder by its full path, `Shared/Travel`; `undefined` when it is not visible to the token.
   */
  async findFolderKey(folderPath: string): Promise<string | undefined> {
    const path = "orchestrator_/api/FoldersNavigation/GetFoldersForCurrentUser";
    const searchText = folderPath.slice(folderPath.lastIndexOf("/") + 1);
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { searchText, skip: `${page * FOLDER_PAGE_SIZE}`, take: `${FOLDER_PAGE_SIZE}` };
      const { PageItems: folders } = (await this.#get({ path, query })) ?? {};
      if (!Array.isArray(folders)) throw this.#invalidResponse("a list of folders");
      const folder: unknown = folders.find(
        (item) => isPlainObject(item) && item["FullyQualifiedName"] === folderPath,
      );
      if (isPlainObject(folder) && typeof folder["Key"] === "string") return folder["Key"];
      if (folders.length < FOLDER_PAGE_SIZE) return undefined;
    }
    return undefined;
  }

  /** The URL of the server with this slug in a folder; `undefined` when there is none. */
  async findMcpUrl(slug: string, folderKey: string): Promise<URL | undefined> {
    const path = `agenthub_/api/servers/${encodeURIComponent(slug)}`;
    const server = await this.#get({ path, headers: { "x-uipath-folderkey": folderKey } });
    if (server === undefined) return undefined;
    const { mcpUrl } = server;
    if (typeof mcpUrl === "string" && /^https?:/.test(mcpUrl) && URL.canParse(mcpUrl)) return new URL(mcpUrl);
    throw this.#invalidResponse("a server with a URL (mcpUrl)");
  }

  /** Sends a GET request; `undefined` for 404. */
  async #get({ path, query = {}, headers = {} }: ApiRequest): Promise<JsonObject | undefined> {
    const { settings, fetch, signal } = this.#deps;
    const url = new URL(`${settings.base.pathname.replace(/\/+$/, "")}/${path}`, settings.base.origin);
    url.search = new URLSearchParams(query).toString();
    const requestHeaders = { accept: "application/json", ...headers, ...settings.headers };
    // Following a redirect could send the token to another origin.
    const init: RequestInit = { headers: requestHeaders, redirect: "manual", signal };
    const response = await fetch(url, init).catch((error: unknown) => {
      throw this.#toFailure(error);
    });
    if (response.status === 404) return undefined;
    const body = tryParseJson(await response.text());
    if (response.status !== 200) throw this.#httpError(response, body);
    if (!isPlainObject(body)) throw this.#invalidResponse("a JSON object");
    return body;
  }

  #toFailure(error: unknown): unknown {
    const { settings, redactor, signal } = this.#deps;
    if (signal.aborted) return signal.reason;
    const reason = unwrapFetchError(error);
    if (reason.name === "TimeoutError")
      return new McpRuntimeError("timeout", `UiPath at ${settings.base.origin} did not respond in time.`);
    return fromConnectionError(reason, false, { server: "UiPath", origin: settings.base.origin, redactor });
  }

  #httpError({ status, headers }: Response, body: unknown): McpRuntimeError {
    const { settings, redactor } = this.#deps;
    const serverText = isPlainObject(body) && typeof body["message"] === "string" ? body["message"] : "";
    const quoted = serverText === "" ? "" : `: ${excerpt(redactor.redact(serverText)).replace(/\.$/, "")}`;
    const text = `UiPath at ${settings.base.origin} returned HTTP ${status}${quoted}. ${hintFor(status, settings)}`;
    const retryAt = toRetryAt(headers.get("retry-after") ?? undefined);
    const kind = classifyFailure({ status, hasRetryAfter: retryAt !== undefined });
    return new McpRuntimeError(kind, text.trim(), { status, retryAt });
  }

  #invalidResponse(expected: string): McpRuntimeError {
    const { origin } = this.#deps.settings.base;
    const text = `UiPath at ${origin} did not return ${expected}. Check its URL, including organization and tenant.`;
    return new McpRuntimeError("invalid-response", text);
  }
}

function hintFor(status: number, { tokenSource }: UipathSettings): string {
  if (status === 401) return `Check that the token in ${tokenSource} is still valid.`;
  if (status === 403) return `Check that the token in ${tokenSource} may read folders and MCP servers.`;
  if (status >= 300 && status < 400)
    return "Redirects are not followed. Check its URL, including organization and tenant.";
  return "";
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
