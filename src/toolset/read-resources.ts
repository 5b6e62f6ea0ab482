import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { PromptCall } from "../client/prompt-client.js";
import { mapConcurrent } from "../async/map-concurrent.js";
import type { ResourceMetadata } from "../tools/content/to-documents.js";
import { assertOptionalArray } from "../config/assert-object.js";
import type { McpResourceInfo } from "../config/resource-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "../manager/managed-server.js";
import { type ToolsetCallOptions, toCallerContext } from "./mcp-toolset.js";

/** How many resources of a server are read concurrently. */
const CONCURRENCY = 8;

/**
 * Reads the resources with these URIs, or all that the server lists. Resource names come from the server's list;
 * if that fails, the documents have no name.
 */
export async function readAsDocuments(
  server: ManagedServer,
  uris: readonly string[] | undefined,
  options: ToolsetCallOptions,
): Promise<Document<ResourceMetadata>[]> {
  const { client, name } = server;
  const caller = toCallerOptions(server, options);
  assertOptionalArray(uris, { subject: "The call to getResources", path: "uris" });
  if (uris?.length === 0) return [];
  const listing = client.listResources(caller);
  const naming = listing.then(indexNamesByUri, () => new Map<string, string>());
  const selected = uris ?? (await listing).map(({ uri }) => uri);
  const { toDocuments } = await import("../tools/content/to-documents.js");
  const read = await mapConcurrent(selected, CONCURRENCY, async (uri) => ({
    uri,
    contents: await client.readResource(uri, caller),
  }));
  const names = await naming;
  return read.flatMap(({ uri, contents }) => toDocuments(contents, { server: name, name: names.get(uri) }));
}

function indexNamesByUri(resources: readonly McpResourceInfo[]): ReadonlyMap<string, string> {
  return new Map(resources.map(({ uri, name }) => [uri, name]));
}

export async function readAsMessages(
  server: ManagedServer,
  { name, args }: PromptCall,
  options: ToolsetCallOptions,
): Promise<BaseMessage[]> {
  const prompt = await server.client.getPrompt({ name, args }, toCallerOptions(server, options));
  const { toMessages } = await import("../tools/content/to-documents.js");
  return toMessages(prompt);
}

export function assertServerName(method: string, server: unknown): void {
  if (typeof server === "string") return;
  const text = `${method} requires a server name: ${method}({ server: "…", … }).`;
  throw new McpRuntimeError("invalid-config", text);
}

function toCallerOptions(server: ManagedServer, { signal, config = {} }: ToolsetCallOptions) {
  server.assertEnabled();
  return { signal, context: toCallerContext(config) };
}
