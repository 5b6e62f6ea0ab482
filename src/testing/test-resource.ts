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

/** A resource of `McpTestServer`. */
export interface TestResource {
  readonly uri: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Returns a string, bytes, or an array of contents. */
  readonly read: (context: TestResourceContext) => unknown;
}

/** The request that reads a resource. */
export interface TestResourceContext {
  /** Aborted when the client cancels the request. */
  readonly signal: AbortSignal;
  /** The headers of the HTTP request; empty for an in-process connection. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A resource template of `McpTestServer`. */
export interface TestResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface ResourceBehavior {
  readonly resources?: readonly TestResource[] | undefined;
  readonly resourceTemplates?: readonly TestResourceTemplate[] | undefined;
  readonly pagination: Pagination;
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

/** Adds the request handlers for resources. Subscribed URIs are added to `subscribed`. */
export function serveResources(
  server: Server,
  behavior: () => ResourceBehavior,
  subscribed: Set<string>,
): void {
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const { resources = [], pagination } = behavior();
    return paginate({ ...RESOURCES, items: resources.map(toListed) }, pagination, params?.cursor);
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, ({ params }) => {
    const { resourceTemplates: items = [], pagination } = behavior();
    return paginate({ ...TEMPLATES, items }, pagination, params?.cursor);
  });
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }, { signal, requestInfo }) => {
    const resource = behavior().resources?.find(({ uri }) => uri === params.uri);
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
