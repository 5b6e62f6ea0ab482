import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { PromptCall } from "../client/prompt.js";
import { mapLimited } from "../concurrency/map-limited.js";
import type { ResourceMetadata } from "../content/to-documents.js";
import { definitionError, describeFound } from "../definitions/definition-issues.js";
import type { McpResourceInfo } from "../definitions/resource-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "../manager/managed-server.js";
import type { ToolsetCallOptions } from "./mcp-toolset.js";
import { toCallerContext } from "./to-caller-context.js";

type WantedResource = Pick<McpResourceInfo, "uri"> & Partial<McpResourceInfo>;

/** How many resources of a server are read at the same time. */
const CONCURRENCY = 8;

/** The resources with these URIs, or all that the server lists, as documents. */
export async function readDocuments(
  server: ManagedServer,
  uris: readonly string[] | undefined,
  options: ToolsetCallOptions,
): Promise<Document<ResourceMetadata>[]> {
  const { client, name } = server;
  const asker = askerOf(server, options);
  checkUris(uris);
  const wanted: readonly WantedResource[] =
    uris?.map((uri) => ({ uri })) ?? (await client.listResources(asker));
  const { toDocuments } = await import("../content/to-documents.js");
  const documents = await mapLimited(wanted, CONCURRENCY, async (resource) => {
    const contents = await client.readResource(resource.uri, asker);
    return toDocuments(contents, { server: name, name: resource.name });
  });
  return documents.flat();
}

export async function readMessages(
  server: ManagedServer,
  { name, args }: PromptCall,
  options: ToolsetCallOptions,
): Promise<BaseMessage[]> {
  const prompt = await server.client.getPrompt({ name, args }, askerOf(server, options));
  const { toMessages } = await import("../content/to-messages.js");
  return toMessages(prompt);
}

/** Which server is meant, nobody can guess. */
export function checkNamesServer(method: string, server: unknown): void {
  if (typeof server === "string") return;
  const text = `${method} needs the name of a server: ${method}({ server: "…", … }).`;
  throw new McpRuntimeError("definition", text);
}

function checkUris(uris: unknown): void {
  if (uris === undefined || Array.isArray(uris)) return;
  const message = `expected a list, found ${describeFound(uris)}`;
  throw definitionError("The call of getResources", [{ path: "uris", message }]);
}

function askerOf(server: ManagedServer, { signal, config = {} }: ToolsetCallOptions) {
  server.throwIfOff();
  return { signal, context: toCallerContext(config) };
}
