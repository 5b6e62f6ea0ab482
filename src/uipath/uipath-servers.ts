import { withAddressOrigin } from "../config/address-policy.js";
import type { McpAgentResource } from "../config/agent-definition.js";
import { assertObject } from "../config/parse-options.js";
import type { HttpServerDefinition, ResolveContext } from "../config/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import {
  resolveUipathSettings,
  type UipathOptions,
  UipathPlatform,
  type UipathSettings,
} from "./uipath-platform.js";

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
  assertObject(options, { subject: "The UiPath configuration" });
  resolveUipathSettings(options, process.env);
  // The default context is for look-ups outside of `createMcpToolsFromAgent`.
  return async (resource, context = { signal: new AbortController().signal, warn: () => undefined }) => {
    // Resolved again because the token in the environment may have been renewed.
    const settings = resolveUipathSettings(options, process.env);
    try {
      return await resolveServer(resource, settings, context);
    } catch (error) {
      throw error instanceof McpRuntimeError ? error.with({ server: resource.name }) : error;
    }
  };
}

async function resolveServer(
  resource: UipathResource,
  settings: UipathSettings,
  { signal, warn }: ResolveContext,
): Promise<HttpServerDefinition> {
  const { OneOffFetch } = await import("../net/one-off-fetch.js");
  const { base, headers, http, redactor } = settings;
  const server = { url: base, ...http };
  const oneOffFetch = new OneOffFetch({ server, connectMs: REQUEST_MS, timeoutMs: REQUEST_MS, redactor });
  try {
    const platform = new UipathPlatform(settings, oneOffFetch.fetch, signal);
    const url = await findServerUrl(resource, platform, settings);
    if (url.origin === base.origin) return { url, headers, ...http };
    warn(
      `Server "${resource.name}": its URL is at ${url.origin}, not at the platform (${base.origin}), so the UiPath token is not sent there.`,
    );
    const definition = { url, dispatcher: http.dispatcher, fetch: http.fetch };
    return withAddressOrigin(definition, { source: "lookup", operatorUrl: base });
  } finally {
    await oneOffFetch.close();
  }
}

async function findServerUrl(
  { name, slug, folderPath: resourceFolder }: UipathResource,
  platform: UipathPlatform,
  settings: UipathSettings,
): Promise<URL> {
  const fail = (problem: string) =>
    new McpRuntimeError("invalid-config", `Agent resource ${JSON.stringify(name)}${problem}`);
  const folderPath = resourceFolder ?? settings.folderPath;
  if (folderPath === undefined)
    throw fail(" has no folder. Set its folderPath, UIPATH_FOLDER_PATH, or uipathServers({ folderPath }).");
  const folder = JSON.stringify(folderPath);
  const folderKey = await platform.findFolderKey(folderPath);
  if (folderKey === undefined)
    throw fail(
      `: UiPath has no folder ${folder} that is visible to the token in ${settings.tokenSource}. Check the path and the permissions of the token.`,
    );
  const url = await platform.findMcpUrl(slug, folderKey);
  if (url === undefined)
    throw fail(`: UiPath has no MCP server ${JSON.stringify(slug)} in folder ${folder}. Check the slug.`);
  return url;
}
