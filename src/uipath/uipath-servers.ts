import type { McpAgentResource } from "../config/agent-definition.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { HttpServerDefinition, ResolveContext } from "../config/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { Redactor } from "../errors/redaction.js";
import { UipathPlatform } from "./uipath-platform.js";
import { resolveUipathSettings, type UipathOptions, type UipathSettings } from "./uipath-settings.js";

/** What of an agent resource tells its server. */
export type UipathResource = Pick<McpAgentResource, "name" | "slug" | "folderPath">;

/** Finds the server of an agent resource on the platform. */
export type UipathLookup = (
  resource: UipathResource,
  context?: ResolveContext,
) => Promise<HttpServerDefinition>;

/** How long one request to the platform may take. */
const REQUEST_MS = 10_000;

/**
 * The servers of an agent's resources, found by folder and slug: for the option `servers` of
 * `createMcpToolsFromAgent`. Throws kind `definition` when address or token are missing; asks the
 * platform when a server is first needed, not before. The token goes to the platform's origin only.
 */
export function uipathServers(options: UipathOptions = {}): UipathLookup {
  if (typeof options !== "object" || options === null) {
    const message = `expected an object, found ${describeValue(options)}`;
    throw configError("The way to UiPath", [{ path: "", message }]);
  }
  resolveUipathSettings(options, process.env);
  return async (resource, context = nobody()) => {
    // Read again: a token in the environment may have been renewed.
    const settings = resolveUipathSettings(options, process.env);
    try {
      return await lookUp(resource, settings, context);
    } catch (error) {
      throw error instanceof McpRuntimeError ? error.with({ server: resource.name }) : error;
    }
  };
}

/** For who asks by hand. */
function nobody(): ResolveContext {
  return { signal: new AbortController().signal, warn: () => undefined };
}

async function lookUp(
  resource: UipathResource,
  settings: UipathSettings,
  { signal, warn }: ResolveContext,
): Promise<HttpServerDefinition> {
  const { SideFetch } = await import("../net/auth-fetch.js");
  const { base, http, secrets } = settings;
  const redactor = new Redactor(secrets);
  const server = { url: base, ...http };
  const side = new SideFetch({ server, connectMs: REQUEST_MS, timeoutMs: REQUEST_MS, redactor });
  try {
    const platform = new UipathPlatform({ settings, fetch: side.fetch, redactor, signal });
    const url = await addressOf(resource, platform, settings);
    if (url.origin === base.origin) return { url, headers: settings.headers, ...http };
    warn(
      `Server "${resource.name}": its address is at ${url.origin}, not at the platform (${base.origin}), so the UiPath token is not sent there.`,
    );
    return { url, dispatcher: http.dispatcher, fetch: http.fetch };
  } finally {
    await side.close();
  }
}

async function addressOf(
  { name, slug, folderPath: own }: UipathResource,
  platform: UipathPlatform,
  settings: UipathSettings,
): Promise<URL> {
  const where = `Agent resource ${JSON.stringify(name)}`;
  const folderPath = own ?? settings.folderPath;
  if (folderPath === undefined)
    throw new McpRuntimeError(
      "invalid-config",
      `${where} names no folder. Give it a folderPath, set UIPATH_FOLDER_PATH, or give uipathServers({ folderPath }).`,
    );
  const folder = JSON.stringify(folderPath);
  const folderKey = await platform.folderKey(folderPath);
  if (folderKey === undefined)
    throw new McpRuntimeError(
      "invalid-config",
      `${where}: UiPath shows no folder ${folder} to the token in ${settings.tokenFrom}. Is the path right, and may it see the folder?`,
    );
  const url = await platform.mcpUrl(slug, folderKey);
  if (url === undefined)
    throw new McpRuntimeError(
      "invalid-config",
      `${where}: UiPath has no MCP server ${JSON.stringify(slug)} in folder ${folder}. Is the slug right?`,
    );
  return url;
}
