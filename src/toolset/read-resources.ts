import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { PromptCall } from "../client/prompt.js";
import { mapLimited } from "../async/map-concurrent.js";
import type { ResourceMetadata } from "../tools/content/to-documents.js";
import { checkList } from "../config/assert-array.js";
import type { McpResourceInfo } from "../config/resource-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "../manager/managed-server.js";
import type { ToolsetCallOptions } from "./mcp-toolset.js";
import { toCallerContext } from "./to-caller-context.js";

/** How many resources of a server are read at the same time. */
const CONCURRENCY = 8;

/**
 * The resources with these URIs, or all that the server lists, as documents. What they are called stands
 * in the server's list alone; where that cannot be had, they come without.
 */
export async function readDocuments(
  server: ManagedServer,
  uris: readonly string[] | undefined,
  options: ToolsetCallOptions,
): Promise<Document<ResourceMetadata>[]> {
  const { client, name } = server;
  const asker = askerOf(server, options);
  checkList(uris, { subject: "The call of getResources", path: "uris" });
  if (uris?.length === 0) return [];
  const listing = client.listResources(asker);
  const naming = listing.then(namesByUri, () => new Map<string, string>());
  const wanted = uris ?? (await listing).map(({ uri }) => uri);
  const { toDocuments } = await import("../tools/content/to-documents.js");
  const read = await mapLimited(wanted, CONCURRENCY, async (uri) => ({
    uri,
    contents: await client.readResource(uri, asker),
  }));
  const names = await naming;
  return read.flatMap(({ uri, contents }) => toDocuments(contents, { server: name, name: names.get(uri) }));
}

function namesByUri(resources: readonly McpResourceInfo[]): ReadonlyMap<string, string> {
  return new Map(resources.map(({ uri, name }) => [uri, name]));
}

export async function readMessages(
  server: ManagedServer,
  { name, args }: PromptCall,
  options: ToolsetCallOptions,
): Promise<BaseMessage[]> {
  const prompt = await server.client.getPrompt({ name, args }, askerOf(server, options));
  const { toMessages } = await import("../tools/content/to-messages.js");
  return toMessages(prompt);
}

/** Which server is meant, nobody can guess. */
export function checkNamesServer(method: string, server: unknown): void {
  if (typeof server === "string") return;
  const text = `${method} needs the name of a server: ${method}({ server: "…", … }).`;
  throw new McpRuntimeError("invalid-config", text);
}

function askerOf(server: ManagedServer, { signal, config = {} }: ToolsetCallOptions) {
  server.throwIfOff();
  return { signal, context: toCallerContext(config) };
}
