import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../json/json.js";
import { type Pagination, paginate } from "./paginate.js";

export interface TestResource {
  readonly uri: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** A text, bytes, or a whole list of contents. */
  readonly read: (context: TestResourceContext) => unknown;
}

export interface TestResourceContext {
  /** Aborted when the client cancels the request. */
  readonly signal: AbortSignal;
  /** The headers of the HTTP request; empty for a server linked in memory. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface TestResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface ResourceBehaviour {
  readonly resources?: readonly TestResource[] | undefined;
  readonly resourceTemplates?: readonly TestResourceTemplate[] | undefined;
  readonly listing: Pagination;
}

const RESOURCE_NOT_FOUND = -32_002;
const RESOURCES = {
  key: "resources",
  extra: (position: number) => ({ uri: `test://${position}`, name: `resource-${position}` }),
};
const TEMPLATES = {
  key: "resourceTemplates",
  extra: (position: number) => ({ uriTemplate: `test://${position}/{x}`, name: `template-${position}` }),
};

/** Lets a server have resources. What a session subscribes to goes into `subscribed`. */
export function serveResources(
  server: Server,
  behaviour: () => ResourceBehaviour,
  subscribed: Set<string>,
): void {
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const { resources = [], listing } = behaviour();
    return paginate({ ...RESOURCES, items: resources.map(toListed) }, listing, params?.cursor);
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, ({ params }) => {
    const { resourceTemplates: items = [], listing } = behaviour();
    return paginate({ ...TEMPLATES, items }, listing, params?.cursor);
  });
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }, { signal, requestInfo }) => {
    const resource = behaviour().resources?.find(({ uri }) => uri === params.uri);
    if (resource === undefined) throw new McpError(RESOURCE_NOT_FOUND, `Resource ${params.uri} not found`);
    const read = await resource.read({ signal, headers: requestInfo?.headers ?? {} });
    return { contents: Array.isArray(read) ? read : [toContent(resource, read)] };
  });
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
}

function toListed({ uri, name = uri, title, description, mimeType }: TestResource): JsonObject {
  return { uri, name, title, description, mimeType };
}

export function toContent({ uri, mimeType }: TestResource, read: unknown): JsonObject {
  if (read instanceof Uint8Array) return { uri, mimeType, blob: Buffer.from(read).toString("base64") };
  return { uri, mimeType, text: String(read) };
}
