import type { Server } from "@modelcontextprotocol/server";
import { listPage } from "../../src/testing/list-page.js";
import type { McpTestServer } from "../../src/testing/index.js";
import { toContent } from "../../src/testing/test-resource.js";

const INVALID_PARAMS = -32_602;

/** The resources of a test server on a server of the SDK's second line. */
export function serveResources(server: Server, library: McpTestServer): void {
  const page = pageOf(library);
  server.setRequestHandler("resources/list", ({ params }) => {
    const items = (library.resources ?? []).map(({ uri, name = uri, mimeType }) => ({ uri, name, mimeType }));
    return page("resources", items, params);
  });
  server.setRequestHandler("resources/templates/list", ({ params }) =>
    page("resourceTemplates", library.resourceTemplates, params),
  );
  server.setRequestHandler("resources/read", async ({ params }, { mcpReq, http }) => {
    const found = library.resources?.find(({ uri }) => uri === params.uri);
    if (found === undefined) throw refusal(`Resource ${params.uri} not found`);
    const headers = Object.fromEntries(http?.req?.headers ?? []);
    const read = await found.read({ signal: mcpReq.signal, headers });
    return { contents: Array.isArray(read) ? read : [toContent(found, read)] } as never;
  });
}

/** Its prompts. */
export function servePrompts(server: Server, library: McpTestServer): void {
  const page = pageOf(library);
  server.setRequestHandler("prompts/list", ({ params }) => {
    const items = (library.prompts ?? []).map(({ name, arguments: args }) => ({ name, arguments: args }));
    return page("prompts", items, params);
  });
  server.setRequestHandler("prompts/get", async ({ params }) => {
    const found = library.prompts?.find(({ name }) => name === params.name);
    if (found === undefined) throw refusal(`Prompt ${params.name} not found`);
    const text = String(await found.get(params.arguments ?? {}));
    return { messages: [{ role: "user", content: { type: "text", text } }] };
  });
  server.setRequestHandler("completion/complete", ({ params: { ref, argument, context } }) => {
    const found = library.prompts?.find(({ name }) => ref.type === "ref/prompt" && ref.name === name);
    const values = [...(found?.complete?.(argument, context?.arguments ?? {}) ?? [])];
    return { completion: { values, total: values.length, hasMore: false } };
  });
}

function pageOf({ listing }: McpTestServer) {
  return (key: string, items: readonly unknown[], params: { cursor?: string | undefined } | undefined) =>
    listPage({ key, items, another: () => ({}) }, listing, params?.cursor) as never;
}

function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: INVALID_PARAMS });
}
