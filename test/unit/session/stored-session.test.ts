import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { SessionStore } from "../../../src/config/session-store.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { sessionKeyOf, StoredSession } from "../../../src/session/stored-session.js";
import { memoryStore } from "../../../src/stores/index.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const SESSION = {
  id: "the-id",
  isProven: true,
  facts: {
    serverInfo: { name: "weather", version: "1", title: undefined },
    capabilities: { tools: {} },
    instructions: undefined,
    protocolVersion: "2025-11-25",
  },
};

function placedIn(store: SessionStore) {
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
    onWarning: (message) => warnings.push(message),
  });
  return { stored, clock, cancellation, warnings };
}

describe("the key of a session", () => {
  const place = {
    url: new URL("https://example.com/mcp?tenant=a"),
    identity: "alice",
    capabilities: { roots: {} },
  };

  it.each([
    ["another origin", { url: new URL("https://example.org/mcp?tenant=a") }],
    ["another port", { url: new URL("https://example.com:8443/mcp?tenant=a") }],
    ["another path", { url: new URL("https://example.com/other?tenant=a") }],
    ["another query", { url: new URL("https://example.com/mcp?tenant=b") }],
    ["another identity", { identity: "bob" }],
    ["no identity", { identity: "" }],
    ["other questions that are answered", { capabilities: {} }],
  ])("is another one for %s", (_, change) => {
    expect(sessionKeyOf({ ...place, ...change })).not.toBe(sessionKeyOf(place));
  });

  it("does not change with a password or a fragment in the address", () => {
    const url = new URL("https://user:secret@example.com/mcp?tenant=a#top");
    expect(sessionKeyOf({ ...place, url })).toBe(sessionKeyOf(place));
  });
});

describe("a stored session", () => {
  it("is found as it was kept", async () => {
    const store = memoryStore();
    await placedIn(store).stored.keep(SESSION);
    expect(await placedIn(store).stored.find(undefined)).toEqual({ id: "the-id", facts: SESSION.facts });
  });

  it("is not found by who has lost it", async () => {
    const { stored } = placedIn(memoryStore());
    await stored.keep(SESSION);
    expect(await stored.find(SESSION)).toBeUndefined();
  });

  it("is given up when the store takes too long, which is told to the store", async () => {
    let signal: AbortSignal | undefined;
    const get: SessionStore["get"] = (_, call) => {
      ({ signal } = call);
      return new Promise(() => undefined);
    };
    const { stored, clock, warnings } = placedIn({ ...memoryStore(), get } as SessionStore);
    const finding = stored.find(undefined);
    await Promise.resolve();
    clock.advance(5_000);
    expect(await finding).toBeUndefined();
    expect(signal?.aborted).toBe(true);
    expect(warnings).toEqual([
      'Server "weather": the session store failed to read, so it goes without: It did not answer within 5000 ms.',
    ]);
    expect(clock.pending).toBe(0);
  });

  it("is not looked for once the client is closed", async () => {
    const { stored, cancellation, clock, warnings } = placedIn(memoryStore());
    cancellation.cancel(new Error("closed"));
    await expect(stored.find(undefined)).rejects.toThrow("closed");
    await stored.keep(SESSION);
    expect(warnings).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("that was ended is waited for a second at most", async () => {
    const never = () => new Promise<never>(() => undefined);
    const { stored, clock, warnings } = placedIn({ get: never, set: async () => undefined, delete: never });
    await stored.keep(SESSION);
    const forgetting = stored.forget();
    await Promise.resolve();
    clock.advance(1_000);
    await forgetting;
    expect(warnings).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
