import { isDeepStrictEqual } from "node:util";
import { withAddressOrigin, withLookupOrigin } from "../config/address-policy.js";
import type { McpAgentResource } from "../config/agent-definition.js";
import { HTTP_FIELDS } from "../config/http-options.js";
import { assertOptions } from "../config/parse-options.js";
import type { HttpServerDefinition, ResolveContext } from "../config/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import {
  PLATFORM_FIELDS,
  resolveUipathSettings,
  type UipathFolder,
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

const UIPATH_OPTIONS: ReadonlySet<string> = new Set(Object.keys({ ...PLATFORM_FIELDS, ...HTTP_FIELDS }));

/** The timeout of one request to the platform. */
const REQUEST_MS = 10_000;

/**
 * Looks up the servers of agent resources, for the option `servers` of `createMcpToolsFromAgent`: by name in the folder
 * that the agent runs in (`UIPATH_FOLDER_PATH`), then by the folder and the slug of the resource. The platform is contacted
 * when a server is first needed. The token is sent to the origin of the platform only.
 *
 * @throws McpRuntimeError of kind `invalid-config` when the URL or the token of the platform is missing.
 *
 * @example
 * ```ts
 * await using toolset = await createMcpToolsFromAgent(agent, { servers: uipathServers() });
 * ```
 */
export function uipathServers(options: UipathOptions = {}): UipathLookup {
  assertOptions(options, UIPATH_OPTIONS, { subject: "The UiPath configuration", path: "" });
  resolveUipathSettings(options, process.env);
  // The default context is for look-ups outside of `createMcpToolsFromAgent`.
  const lookup: UipathLookup = async (
    resource,
    context = { signal: new AbortController().signal, warn: () => undefined },
  ) => {
    // Resolved again because the token in the environment may have been renewed.
    const settings = resolveUipathSettings(options, process.env);
    try {
      return await resolveServer(resource, settings, context);
    } catch (error) {
      throw error instanceof McpRuntimeError ? error.with({ server: resource.name }) : error;
    }
  };
  return withLookupOrigin(lookup, "uipath");
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

/** What the packager of UiPath writes for the folder that the solution is deployed to: the one that the agent runs in. */
const SOLUTION_FOLDER = "solution_folder";

/** As UiPath's own client: by name in the folder that the agent runs in, then by the folder and the slug of the resource. */
async function findServerUrl(
  { name, slug, folderPath }: UipathResource,
  platform: UipathPlatform,
  { executionFolder, tokenSource }: UipathSettings,
): Promise<URL> {
  const fail = (problem: string) =>
    new McpRuntimeError("invalid-config", `Agent resource ${JSON.stringify(name)}${problem}`);
  const hasOwnFolder = folderPath !== undefined && folderPath !== "" && folderPath !== SOLUTION_FOLDER;
  const resourceFolder = hasOwnFolder ? { path: folderPath } : executionFolder;
  if (resourceFolder === undefined)
    throw fail(" has no folder. Set its folderPath, UIPATH_FOLDER_PATH, or uipathServers({ folderPath }).");
  const problems: string[] = [];
  for (const [folder, identifiers] of toSearches(executionFolder, resourceFolder, { name, slug })) {
    const label = "key" in folder ? `with the key ${folder.key}` : JSON.stringify(folder.path);
    const folderKey = "key" in folder ? folder.key : await platform.findFolderKey(folder.path);
    if (folderKey === undefined) {
      problems.push(`no folder ${label} that is visible to the token in ${tokenSource}`);
      continue;
    }
    for (const identifier of identifiers) {
      const url = await platform.findMcpUrl(identifier, folderKey);
      if (url !== undefined) return url;
      problems.push(`no MCP server ${JSON.stringify(identifier)} in folder ${label}`);
    }
  }
  throw fail(`: UiPath has ${problems.join(", and ")}. Check the names and the permissions of the token.`);
}

/** The folders to search, in order, each with the names and slugs to look for. */
function toSearches(
  executionFolder: UipathFolder | undefined,
  resourceFolder: UipathFolder,
  { name, slug }: Pick<UipathResource, "name" | "slug">,
): [UipathFolder, readonly string[]][] {
  if (executionFolder === undefined) return [[resourceFolder, [slug]]];
  if (isDeepStrictEqual(executionFolder, resourceFolder))
    return [[resourceFolder, [...new Set([name, slug])]]];
  return [
    [executionFolder, [name]],
    [resourceFolder, [slug]],
  ];
}
