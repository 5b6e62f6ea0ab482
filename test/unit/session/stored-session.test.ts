import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { SessionStore } from "../../../src/config/server-definition.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { toSessionKey, StoredSession } from "../../../src/session/stored-session.js";
import { memoryStore } from "../../../src/stores/index.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const SESSION = {
  id: "the-id",
  isConfirmed: true,
  metadata: {
    serverInfo: { name: "weather", version: "1", title: undefined },
    capabilities: { tools: {} },
    instructions: undefined,
    protocolVersion: "2025-11-25",
  },
};

function createStoredSession(store: SessionStore) {
  const clock = new FakeClock();
  const cancellation = new CancelScope();
  const warnings: string[] = [];
  const stored = new StoredSession({
    server: "weather",
    store,
    storeTtlMs: 1_000,
    key: "session/1",
    redactor: new Redactor(),
    clock,
    cancellation,
    log: { info: () => undefined, warn: (message) => warnings.push(message) },
  });
  return { stored, clock, cancellation, warnings };
}

describe("a session key", () => {
  const input = {
    url: new URL("https://example.com/mcp?tenant=a"),
    identity: "alice",
    capabilities: { roots: {} },
    clientName: "agent",
  };

  it.each([
    ["another origin", { url: new URL("https://example.org/mcp?tenant=a") }],
    ["another port", { url: new URL("https://example.com:8443/mcp?tenant=a") }],
    ["another path", { url: new URL("https://example.com/other?tenant=a") }],
    ["another query", { url: new URL("https://example.com/mcp?tenant=b") }],
    ["another identity", { identity: "bob" }],
    ["no identity", { identity: "" }],
    ["other client capabilities", { capabilities: {} }],
    ["another client", { clientName: "other-agent" }],
  ])("differs for %s", (_, change) => {
    expect(toSessionKey({ ...input, ...change })).not.toBe(toSessionKey(input));
  });

  it("does not depend on credentials or a fragment in the URL", () => {
    const url = new URL("https://user:secret@example.com/mcp?tenant=a#top");
    expect(toSessionKey({ ...input, url })).toBe(toSessionKey(input));
  });
});

describe("a stored session", () => {
  it("is loaded as it was saved", async () => {
    const store = memoryStore();
    await createStoredSession(store).stored.save(SESSION);
    expect(await createStoredSession(store).stored.load(undefined)).toEqual({
      id: "the-id",
      metadata: SESSION.metadata,
    });
  });

  it("is not loaded in place of itself", async () => {
    const { stored } = createStoredSession(memoryStore());
    await stored.save(SESSION);
    expect(await stored.load(SESSION)).toBeUndefined();
  });

  it("is skipped with a warning when the store times out, and the store call is aborted", async () => {
    let signal: AbortSignal | undefined;
    const get: SessionStore["get"] = (_, call) => {
      ({ signal } = call);
      return new Promise(() => undefined);
    };
    const { stored, clock, warnings } = createStoredSession({ ...memoryStore(), get } as SessionStore);
    const loading = stored.load(undefined);
    await Promise.resolve();
    clock.advance(5_000);
    expect(await loading).toBeUndefined();
    expect(signal?.aborted).toBe(true);
    expect(warnings).toEqual([expect.stringMatching(/"weather".*read.*5000 ms/)]);
    expect(clock.pending).toBe(0);
  });

  it("is not loaded after the client is closed", async () => {
    const { stored, cancellation, clock, warnings } = createStoredSession(memoryStore());
    cancellation.cancel(new Error("closed"));
    await expect(stored.load(undefined)).rejects.toThrow("closed");
    await stored.save(SESSION);
    expect(warnings).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("is deleted within one second or not at all", async () => {
    const never = () => new Promise<never>(() => undefined);
    const { stored, clock, warnings } = createStoredSession({
      get: never,
      set: async () => undefined,
      delete: never,
    });
    await stored.save(SESSION);
    const deleting = stored.delete();
    await Promise.resolve();
    clock.advance(1_000);
    await deleting;
    expect(warnings).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
