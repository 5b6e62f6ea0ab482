import { describe, expect, it } from "vitest";
import { parseServer } from "../../../src/config/parse-server.js";
import { parseServers } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const store = memoryStore();
const url = "https://example.com/mcp";

function findIssues(definition: object) {
  return catchConfigError(() => parseServer("weather", definition as never)).issues;
}

describe("a session store", () => {
  it("is used unchanged; sessions are kept for a day and not terminated on close", () => {
    const { session } = parseServer("weather", { url, session: { store } });
    expect(session.store).toBe(store);
    expect(session).toMatchObject({ storeTtlMs: 86_400_000, terminateOnClose: false });
  });

  it("allows terminateOnClose", () => {
    const { session } = parseServer("weather", {
      url,
      session: { store, terminateOnClose: true, storeTtlMs: 5 },
    });
    expect(session).toMatchObject({ storeTtlMs: 5, terminateOnClose: true });
  });

  it("cannot be combined with a session id", () => {
    expect(findIssues({ url, session: { store, id: "abc" } })).toEqual([
      { path: "session.id", message: expect.stringContaining("session.store") },
    ]);
  });

  it.each([
    ["stdio", { command: "npx" }],
    ["sse", { type: "sse", url }],
    ["websocket", { url: "wss://example.com/mcp" }],
    ["lambda", { functionName: "tools" }],
    ["custom", { openTransport: () => expect.unreachable() }],
    ["in-process", { server: () => expect.unreachable() }],
  ])("is only for HTTP, not for %s", (kind, definition) => {
    expect(findIssues({ ...definition, session: { store } })).toEqual([
      { path: "session.store", message: expect.stringContaining(`type ${kind}`) },
    ]);
  });

  it("may be next to resolve, and is validated again with the resolved definition", async () => {
    const { address } = parseServer("weather", { resolve: () => ({ command: "npx" }), session: { store } });
    if (address.kind !== "dynamic") expect.unreachable();
    const context = { signal: new AbortController().signal, warn: () => undefined };
    await expect(address.resolve(context)).rejects.toMatchObject({
      kind: "invalid-config",
      issues: [{ path: "session.store" }],
    });
  });

  it.each([
    ["headers", { headers: { "x-key": "k" } }],
    ["auth", { auth: { tokens: () => undefined } }],
    ["user in the url", { url: "https://user:password@example.com/mcp" }],
    ["tls.cert", { tls: { cert: readPemFile("client"), key: readPemFile("client-key") } }],
    ["dispatcher", { dispatcher: { dispatch: () => true } }],
    ["fetch", { fetch: () => expect.unreachable() }],
  ])("requires an identity when credentials may differ: %s", (credential, credentials) => {
    expect(findIssues({ url, session: { store }, ...credentials })).toEqual([
      { path: "identity", message: expect.stringContaining(`(${credential})`) },
    ]);
    const identity = () => "billing";
    expect(
      parseServer("weather", { url, session: { store }, identity, ...credentials } as never).session.store,
    ).toBe(store);
  });

  it("requires an identity only once when credentials are functions", () => {
    expect(findIssues({ url, session: { store }, auth: () => "token" })).toHaveLength(1);
  });

  it("cannot be a string in JSON", () => {
    const json = JSON.stringify({ weather: { url, session: { store: "redis://localhost" } } });
    expect(catchConfigError(() => parseServers(json)).issues).toEqual([
      { path: "weather.session.store", message: expect.stringContaining("expected a store") },
    ]);
  });

  it.each([0, -1, "a day"])("rejects a TTL of %s", (storeTtlMs) => {
    expect(findIssues({ url, session: { store, storeTtlMs } })).toMatchObject([
      { path: "session.storeTtlMs" },
    ]);
  });
});
