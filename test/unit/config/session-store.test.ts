import { describe, expect, it } from "vitest";
import { parseServer } from "../../../src/config/parse-server.js";
import { parseServers } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { pemFile } from "../../fixtures/pem-file.js";
import { definitionErrorOf } from "./config-error-of.js";

const store = memoryStore();
const url = "https://example.com/mcp";

function issuesOf(definition: object) {
  return definitionErrorOf(() => parseServer("weather", definition as never)).issues;
}

describe("a session store", () => {
  it("is taken as it is; sessions are then kept a day and not ended on close", () => {
    const { session } = parseServer("weather", { url, session: { store } });
    expect(session.store).toBe(store);
    expect(session).toMatchObject({ storeTtlMs: 86_400_000, terminateOnClose: false });
  });

  it("lets who says so end them", () => {
    const { session } = parseServer("weather", {
      url,
      session: { store, terminateOnClose: true, storeTtlMs: 5 },
    });
    expect(session).toMatchObject({ storeTtlMs: 5, terminateOnClose: true });
  });

  it("has no place next to a pinned session", () => {
    expect(issuesOf({ url, session: { store, id: "abc" } })).toEqual([
      { path: "session.id", message: "cannot stand next to session.store: give one of them" },
    ]);
  });

  it.each([
    ["stdio", { command: "npx" }],
    ["sse", { type: "sse", url }],
    ["websocket", { url: "wss://example.com/mcp" }],
    ["lambda", { functionName: "tools" }],
    ["custom", { openTransport: () => expect.unreachable() }],
    ["in-process", { server: () => expect.unreachable() }],
  ])("is for servers over HTTP, and not for %s", (kind, definition) => {
    const message = `is for servers of kind http: a session of kind ${kind} ends with its connection`;
    expect(issuesOf({ ...definition, session: { store } })).toEqual([{ path: "session.store", message }]);
  });

  it("may stand next to resolve, and is looked at again with what is found", async () => {
    const { address } = parseServer("weather", { resolve: () => ({ command: "npx" }), session: { store } });
    if (address.kind !== "dynamic") expect.unreachable();
    const context = { signal: new AbortController().signal, warn: () => undefined };
    await expect(address.resolve(context)).rejects.toThrow("session.store");
  });

  it.each([
    ["headers", { headers: { "x-key": "k" } }],
    ["auth", { auth: { tokens: () => undefined } }],
    ["user in the url", { url: "https://user:password@example.com/mcp" }],
    ["tls.cert", { tls: { cert: pemFile("client"), key: pemFile("client-key") } }],
    ["dispatcher", { dispatcher: { dispatch: () => true } }],
    ["fetch", { fetch: () => expect.unreachable() }],
  ])("asks whose sessions these are when there is something that proves it: %s", (proof, more) => {
    expect(issuesOf({ url, session: { store }, ...more })).toEqual([
      { path: "identity", message: expect.stringContaining(`others with another ${proof} may use the same`) },
    ]);
    const identity = () => "billing";
    expect(
      parseServer("weather", { url, session: { store }, identity, ...more } as never).session.store,
    ).toBe(store);
  });

  it("asks once where functions of the caller ask as well", () => {
    expect(issuesOf({ url, session: { store }, auth: () => "token" })).toHaveLength(1);
  });

  it("cannot come from JSON", () => {
    const json = JSON.stringify({ weather: { url, session: { store: "redis://localhost" } } });
    expect(definitionErrorOf(() => parseServers(json)).issues).toEqual([
      {
        path: "weather.session.store",
        message: "expected a store: an object with get, set and delete",
      },
    ]);
  });

  it.each([0, -1, "a day"])("keeps nothing for %s", (storeTtlMs) => {
    expect(issuesOf({ url, session: { store, storeTtlMs } })).toMatchObject([{ path: "session.storeTtlMs" }]);
  });
});
