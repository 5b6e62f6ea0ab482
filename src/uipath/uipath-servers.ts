import type { McpAgentResource } from "../config/agent/agent-definition.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { HttpServerDefinition, ResolveContext } from "../config/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { Redactor } from "../errors/redaction.js";
import { UipathPlatform } from "./uipath-platform.js";
import { resolveUipathSettings, type UipathOptions, type UipathSettings } from "./uipath-settings.js";

/** The properties of an agent resource that identify its server. */
export type UipathResource = Pick<McpAgentResource, "name" | "slug" | "folderPath">;

/** Looks up the server of an agent resource on the UiPath platform. */
export type UipathLookup = (
  resource: UipathResource,
  context?: ResolveContext,
) => Promise<HttpServerDefinition>;

/** The timeout of one request to the platform. */
const REQUEST_MS = 10_000;

/**
 * Looks up the servers of agent resources by folder and slug, for the option `servers` of
 * `createMcpToolsFromAgent`. The platform is contacted when a server is first needed. The token is sent to the
 * origin of the platform only.
 *
 * @throws McpRuntimeError of kind `invalid-config` when the URL or the token of the platform is missing.
 *
 * @example
 * ```ts
 * await using toolset = await createMcpToolsFromAgent(agent, { servers: uipathServers() });
 * ```
 */
export function uipathServers(options: UipathOptions = {}): UipathLookup {
  if (typeof options !== "object" || options === null) {
    const message = `expected an object, got ${describeValue(options)}`;
    throw configError("The UiPath configuration", [{ path: "", message }]);
  }
  resolveUipathSettings(options, process.env);
  return async (resource, context = standaloneContext()) => {
    // Resolved again because the token in the environment may have been renewed.
    const settings = resolveUipathSettings(options, process.env);
    try {
      return await resolveServer(resource, settings, context);
    } catch (error) {
      throw error instanceof McpRuntimeError ? error.with({ server: resource.name }) : error;
    }
  };
}

/** The context of look-ups outside of `createMcpToolsFromAgent`. */
function standaloneContext(): ResolveContext {
  return { signal: new AbortController().signal, warn: () => undefined };
}

async function resolveServer(
  resource: UipathResource,
  settings: UipathSettings,
  { signal, warn }: ResolveContext,
): Promise<HttpServerDefinition> {
  const { OneOffFetch } = await import("../net/one-off-fetch.js");
  const { base, http, secrets } = settings;
  const redactor = new Redactor(secrets);
  const server = { url: base, ...http };
  const oneOffFetch = new OneOffFetch({ server, connectMs: REQUEST_MS, timeoutMs: REQUEST_MS, redactor });
  try {
    const platform = new UipathPlatform({ settings, fetch: oneOffFetch.fetch, redactor, signal });
    const url = await findServerUrl(resource, platform, settings);
    if (url.origin === base.origin) return { url, headers: settings.headers, ...http };
    warn(
      `Server "${resource.name}": its URL is at ${url.origin}, not at the platform (${base.origin}), so the UiPath token is not sent there.`,
    );
    return { url, dispatcher: http.dispatcher, fetch: http.fetch };
  } finally {
    await oneOffFetch.close();
  }
}

async function findServerUrl(
  { name, slug, folderPath: resourceFolder }: UipathResource,
  platform: UipathPlatform,
  settings: UipathSettings,
): Promise<URL> {
  const subject = `Agent resource ${JSON.stringify(name)}`;
  const folderPath = resourceFolder ?? settings.folderPath;
  if (folderPath === undefined)
    throw new McpRuntimeError(
      "invalid-config",
      `${subject} has no folder. Set its folderPath, UIPATH_FOLDER_PATH, or uipathServers({ folderPath }).`,
    );
  const folder = JSON.stringify(folderPath);
  const folderKey = await platform.findFolderKey(folderPath);
  if (folderKey === undefined)
    throw new McpRuntimeError(
      "invalid-config",
      `${subject}: UiPath has no folder ${folder} that is visible to the token in ${settings.tokenSource}. Check the path and the permissions of the token.`,
    );
  const url = await platform.findMcpUrl(slug, folderKey);
  if (url === undefined)
    throw new McpRuntimeError(
      "invalid-config",
      `${subject}: UiPath has no MCP server ${JSON.stringify(slug)} in folder ${folder}. Check the slug.`,
    );
  return url;
}
