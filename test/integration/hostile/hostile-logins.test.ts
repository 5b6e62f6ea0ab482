import { expect, it } from "vitest";
import { createTestClient, echo, rejection } from "../../fixtures/clients.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startRawServer } from "../../fixtures/raw-server.js";

/** A server that is its own authorization server. */
function startLoginServer(toLoginUrl: (origin: string) => string) {
  return startRawServer(({ request, response }) => {
    const { host = "", url = "" } = { host: request.headers.host, url: request.url };
    const origin = `http://${host}`;
    const documents: Record<string, object> = {
      "oauth-protected-resource": { resource: `${origin}/mcp`, authorization_servers: [origin] },
      "oauth-authorization-server": {
        issuer: origin,
        authorization_endpoint: toLoginUrl(origin),
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
    };
    const [, document] = Object.entries(documents).find(([name]) => url.includes(name)) ?? [];
    response.writeHead(document === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  });
}

it.each([
  ["starts another program", () => "ms-settings:privacy", "starts with neither https:// nor http://"],
  ["is a file", () => "file:///etc/passwd", "starts with neither https:// nor http://"],
  ["is long", (origin: string) => `${origin}/login?x=${"x".repeat(900_000)}`, "16384 are allowed"],
])("a login whose URL %s is not offered", async (_, toLoginUrl, text) => {
  await using server = await startLoginServer(toLoginUrl);
  const provider = new MemoryOAuthProvider();
  await using client = createTestClient(server, { auth: provider });
  const failure = await rejection(client.callTool(echo()));
  expect(failure).toMatchObject({ kind: "unauthorized", authorizationUrl: undefined });
  expect(failure.message).toContain(text);
  expect(provider.redirects).toEqual([]);
});
