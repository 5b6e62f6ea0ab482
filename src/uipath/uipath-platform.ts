import type { HttpOptions } from "../config/http-options.js";
import { option, type OptionsOf } from "../config/parse-options.js";
import { parseServer } from "../config/parse-server.js";
import { classifyFailure } from "../errors/failure-kinds.js";
import { configError, type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { Redactor } from "../errors/redaction.js";
import { isPlainObject, type JsonObject, tryParseJson } from "../json/json.js";
import { unwrapFetchError } from "../net/connect-errors.js";
import { fromConnectionError, toRetryAt } from "../transports/http/http-errors.js";

export const PLATFORM_FIELDS = {
  /**
   * The URL with organization and tenant: `https://cloud.uipath.com/acme/production`.
   *
   * @default process.env.UIPATH_URL
   */
  url: option.any<string | URL>(),
  /**
   * The access token.
   *
   * @default process.env.UNATTENDED_USER_ACCESS_TOKEN, then process.env.UIPATH_ACCESS_TOKEN (the order of the UiPath SDKs)
   */
  token: option.any<string>(),
  /**
   * The folder that the agent runs in. Servers are looked up there by the name of the resource first, and then in the folder
   * of the resource by its slug. It is also the folder of resources without one.
   *
   * @default process.env.UIPATH_FOLDER_PATH, then the folder with the key process.env.UIPATH_FOLDER_KEY
   */
  folderPath: option.any<string>(),
};

/** How to reach the UiPath platform. Missing options are read from environment variables. */
export interface UipathOptions extends HttpOptions, OptionsOf<typeof PLATFORM_FIELDS, undefined> {}

/** A folder, by its full path or by its key. */
export type UipathFolder = { readonly path: string } | { readonly key: string };

/** `UipathOptions` with the environment applied. */
export interface UipathSettings {
  readonly base: URL;
  readonly headers: { readonly authorization: string };
  /** The option or variable that the token comes from. */
  readonly tokenSource: string;
  /** The folder that the agent runs in. */
  readonly executionFolder: UipathFolder | undefined;
  readonly http: HttpOptions;
  readonly redactor: Redactor;
}

const NO_URL: ConfigIssue = {
  path: "url",
  message:
    "is missing: set UIPATH_URL (https://cloud.uipath.com/organization/tenant), or pass uipathServers({ url })",
};
const NO_TOKEN: ConfigIssue = {
  path: "token",
  message:
    "is missing: set UIPATH_ACCESS_TOKEN or UNATTENDED_USER_ACCESS_TOKEN, or pass uipathServers({ token })",
};

/** Throws kind `invalid-config` when an option is missing or invalid. */
export function resolveUipathSettings(
  { tls, dispatcher, fetch, ...options }: UipathOptions,
  env: Readonly<Record<string, string | undefined>>,
): UipathSettings {
  const url = toText(options.url) || toText(env["UIPATH_URL"]);
  const path = toText(options.folderPath) || toText(env["UIPATH_FOLDER_PATH"]);
  const key = toText(env["UIPATH_FOLDER_KEY"]);
  const folderByKey = key === "" ? undefined : { key };
  const executionFolder = path === "" ? folderByKey : { path };
  const tokens = {
    "uipathServers({ token })": toText(options.token),
    UNATTENDED_USER_ACCESS_TOKEN: toText(env["UNATTENDED_USER_ACCESS_TOKEN"]),
    UIPATH_ACCESS_TOKEN: toText(env["UIPATH_ACCESS_TOKEN"]),
  };
  const [tokenSource = "", token = ""] = Object.entries(tokens).find(([, text]) => text !== "") ?? [];
  const issues = [...(url === "" ? [NO_URL] : []), ...(token === "" ? [NO_TOKEN] : [])];
  if (issues.length > 0) throw configError("The UiPath configuration", issues);
  const headers = { authorization: `Bearer ${token}` };
  const http = { tls, dispatcher, fetch };
  const { secrets } = parseServer("UiPath", { type: "http", url, headers, ...http });
  const redactor = new Redactor(secrets);
  return { base: new URL(url), headers, tokenSource, executionFolder, http, redactor };
}

/** Empty strings count as missing, as in environment variables. */
function toText(value: string | URL | undefined): string {
  return String(value ?? "").trim();
}

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

interface ApiRequest {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const FOLDER_PAGE_SIZE = 20;
const MAX_PAGES = 50;

/** The part of the UiPath HTTP API that locates MCP servers. */
export class UipathPlatform {
  readonly #settings: UipathSettings;
  readonly #fetch: Fetch;
  readonly #signal: AbortSignal;

  constructor(settings: UipathSettings, fetch: Fetch, signal: AbortSignal) {
    this.#settings = settings;
    this.#fetch = fetch;
    this.#signal = signal;
  }

  /**
   * The key of a folder by its full path, `Shared/Travel`; `undefined` when it is not visible to the token.
   */
  async findFolderKey(folderPath: string): Promise<string | undefined> {
    const path = "orchestrator_/api/FoldersNavigation/GetFoldersForCurrentUser";
    const searchText = folderPath.slice(folderPath.lastIndexOf("/") + 1);
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { searchText, skip: `${page * FOLDER_PAGE_SIZE}`, take: `${FOLDER_PAGE_SIZE}` };
      const { PageItems: folders } = (await this.#get(path, { query })) ?? {};
      if (!Array.isArray(folders)) throw this.#invalidResponse("a list of folders");
      const folder: unknown = folders.find(
        (item) => isPlainObject(item) && item["FullyQualifiedName"] === folderPath,
      );
      if (isPlainObject(folder) && typeof folder["Key"] === "string") return folder["Key"];
      if (folders.length < FOLDER_PAGE_SIZE) return undefined;
    }
    return undefined;
  }

  /** The URL of the server with this name or slug in a folder; `undefined` when there is none. */
  async findMcpUrl(nameOrSlug: string, folderKey: string): Promise<URL | undefined> {
    const path = `agenthub_/api/servers/${encodeURIComponent(nameOrSlug)}`;
    const server = await this.#get(path, { headers: { "x-uipath-folderkey": folderKey } });
    if (server === undefined) return undefined;
    const { mcpUrl } = server;
    if (typeof mcpUrl === "string" && /^https?:/.test(mcpUrl) && URL.canParse(mcpUrl)) return new URL(mcpUrl);
    throw this.#invalidResponse("a server with a URL (mcpUrl)");
  }

  /** Sends a GET request; `undefined` for 404. */
  async #get(path: string, { query = {}, headers = {} }: ApiRequest): Promise<JsonObject | undefined> {
    const { base, headers: credentials } = this.#settings;
    const url = new URL(`${base.pathname.replace(/\/+$/, "")}/${path}`, base.origin);
    url.search = new URLSearchParams(query).toString();
    // Following a redirect could send the token to another origin.
    const response = await this.#fetch(url, {
      headers: { accept: "application/json", ...headers, ...credentials },
      redirect: "manual",
      signal: this.#signal,
    }).catch((error: unknown) => {
      throw this.#toFailure(error);
    });
    if (response.status === 404) return undefined;
    const body = tryParseJson(await response.text());
    if (response.status !== 200) throw this.#httpError(response, body);
    if (!isPlainObject(body)) throw this.#invalidResponse("a JSON object");
    return body;
  }

  #toFailure(error: unknown): unknown {
    const { origin } = this.#settings.base;
    if (this.#signal.aborted) return this.#signal.reason;
    const reason = unwrapFetchError(error);
    if (reason.name === "TimeoutError")
      return new McpRuntimeError("timeout", `UiPath at ${origin} did not respond in time.`);
    const { redactor } = this.#settings;
    return fromConnectionError(reason, { server: "UiPath", origin, redactor }, { wasSent: false });
  }

  #httpError({ status, headers }: Response, body: unknown): McpRuntimeError {
    const { base, redactor } = this.#settings;
    const serverText = isPlainObject(body) && typeof body["message"] === "string" ? body["message"] : "";
    const quoted = serverText === "" ? "" : `: ${redactor.excerpt(serverText).replace(/\.$/, "")}`;
    const text = `UiPath at ${base.origin} returned HTTP ${status}${quoted}. ${hintFor(status, this.#settings)}`;
    const retryAt = toRetryAt(headers.get("retry-after") ?? undefined);
    const kind = classifyFailure({ status, hasRetryAfter: retryAt !== undefined });
    return new McpRuntimeError(kind, text.trim(), { status, retryAt });
  }

  #invalidResponse(expected: string): McpRuntimeError {
    const { origin } = this.#settings.base;
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
