import { describe, expect, it } from "vitest";
import type { KeyValueStore } from "../../src/stores/index.js";
import type { Logger } from "../../src/index.js";
import { eventually, rejection, times } from "../fixtures/clients.js";
import { RecordingLogger } from "../fixtures/recording-logger.js";

interface OpenStoreOptions {
  readonly now?: () => number;
  readonly logger?: Logger;
  readonly maxBytes?: number;
  readonly namespace?: string;
}

/** A backend to open stores on. */
export interface StoreSubject extends AsyncDisposable {
  /** Opens a new store on the same backend. */
  readonly open: (options?: OpenStoreOptions) => KeyValueStore;
  /** Writes raw text under a key, as anyone with write access could. */
  readonly writeRaw?: (key: string, text: string) => Promise<void>;
}

export interface StoreTraits {
  /** The backend can be used by other stores. */
  readonly isShared: boolean;
  readonly hasNamespaces: boolean;
  readonly hasFeed: boolean;
  readonly hasLeases: boolean;
}

/** Must never appear in a message. */
const SECRET = "canary-8d1f";

const INVALID_RECORDS: readonly (readonly [description: string, text: string])[] = [
  ["text that is not JSON", SECRET],
  ["other JSON", JSON.stringify([SECRET])],
  ["a value without a header", `{"value":"${SECRET}"}\n"${SECRET}"`],
  ["an entry of another key", `{"format":1,"key":"other"}\n"${SECRET}"`],
  ["an entry of another format", `{"format":2,"key":"k"}\n"${SECRET}"`],
  ["a header with its key in __proto__", `{"format":1,"__proto__":{"key":"k"}}\n"${SECRET}"`],
  ["an invalid expiry time", `{"format":1,"key":"k","expiresAt":"${SECRET}"}\n1`],
  ["a truncated entry", `{"format":1,"key":"k"}\n{"a":"${SECRET}`],
  ["an entry without a value", `{"format":1,"key":"k"}\n`],
  ["a truncated string", `{"format":1,"key":"k","textLength":20}\n${SECRET}`],
  ["a string that is too long", `{"format":1,"key":"k","textLength":1}\n${SECRET}`],
  ["an invalid length", `{"format":1,"key":"k","textLength":"${SECRET}"}\n${SECRET}`],
  ["a header that is too long", `{"format":1,"key":"k","more":"${"x".repeat(10_000)}"}\n1`],
  ["a __proto__ key", `{"format":1,"key":"k"}\n{"a":[{"__proto__":{"b":"${SECRET}"}}]}`],
  ["an escaped __proto__ key", String.raw`{"format":1,"key":"k"}${"\n"}{"\u005f_proto__":{}}`],
  ["100,000 nested arrays", `{"format":1,"key":"k"}\n${"[".repeat(100_000)}${"]".repeat(100_000)}`],
];

const INVALID_VALUES: readonly (readonly [description: string, create: () => unknown])[] = [
  ["undefined", () => undefined],
  ["a function", () => ({ secret: SECRET, run: () => 1 })],
  ["NaN", () => [SECRET, Number.NaN]],
  ["an instance of a class", () => [SECRET, new Map([[SECRET, SECRET]])]],
  ["a __proto__ key", () => JSON.parse(`{"a":[{"__proto__":{"b":"${SECRET}"}}]}`)],
  ["itself", createCyclicValue],
  ["too many levels", () => times(501, () => 0).reduce<unknown>((inner) => [inner], SECRET)],
];

/** The contract of every store. */
export function describeStore(
  name: string,
  { isShared, hasNamespaces, hasFeed, hasLeases }: StoreTraits,
  openSubject: () => Promise<StoreSubject>,
): void {
  describe(`the store contract: ${name}`, () => {
    it.each([
      null,
      false,
      0,
      "",
      "ä€😀\n\u0000",
      "ä€😀\n\r\n",
      "\n{}\n",
      "half of 😀: \uD83D",
      -1.5e300,
      [],
      {},
      [[null, { a: [1, "2"] }]],
      { "": { b: 1 } },
    ])("%j is returned unchanged", async (value) => {
      await using subject = await openSubject();
      await using store = subject.open();
      await store.set("k", value);
      expect(await store.get("k")).toEqual(value);
    });

    it("a missing key has no value and can be deleted", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      expect(await store.get("k")).toBeUndefined();
      expect(await store.list("")).toEqual([]);
      await store.delete("k");
    });

    it("the last value is kept until it is deleted", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      await store.set("k", 1);
      await store.set("k", 2);
      await store.set("other", 3);
      expect(await store.get("k")).toBe(2);
      await store.delete("k");
      expect(await store.get("k")).toBeUndefined();
      expect(await store.get("other")).toBe(3);
    });

    it("any string is a valid key", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const keys = [
        "a",
        "A",
        "../a",
        "a/b",
        "a:b",
        "a b",
        "ä€😀",
        "a\nb",
        "__proto__",
        "%2e_5f",
        "k".repeat(512),
      ];
      await Promise.all(keys.map((key) => store.set(key, `value of ${key}`)));
      const values = await Promise.all(keys.map((key) => store.get(key)));
      expect(values).toEqual(keys.map((key) => `value of ${key}`));
      expect(await store.list("")).toEqual(keys.toSorted());
    });

    it("keys are listed by prefix, sorted", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const keys = ["tools/b", "tools/a", "tools*", "tools[a]", "to?ls/c", "tööls/a", "sessions/a"];
      for (const key of keys) await store.set(key, 1);
      expect(await store.list("tools/")).toEqual(["tools/a", "tools/b"]);
      expect(await store.list("tools*")).toEqual(["tools*"]);
      expect(await store.list("tools[a]")).toEqual(["tools[a]"]);
      expect(await store.list("to?ls/")).toEqual(["to?ls/c"]);
      expect(await store.list("tö")).toEqual(["tööls/a"]);
      expect(await store.list("")).toEqual(keys.toSorted());
      await store.delete("tools/a");
      expect(await store.list("tools/")).toEqual(["tools/b"]);
    });

    it("listing returns more keys than fit into one page", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const keys = times(250, (n) => `many/${String(n).padStart(3, "0")}`);
      await Promise.all(keys.map((key) => store.set(key, 1)));
      expect(await store.list("many/")).toEqual(keys);
    });

    it("an entry exists until its time to live is over", async () => {
      let now = Date.now();
      await using subject = await openSubject();
      await using store = subject.open({ now: () => now });
      await store.set("k", "short", { ttlMs: 60_000 });
      await store.set("stays", "long");
      now += 59_999;
      expect(await store.get("k")).toBe("short");
      now += 1;
      expect(await store.get("k")).toBeUndefined();
      expect(await store.get("stays")).toBe("long");
      await store.set("k", "again", { ttlMs: 0.5 });
      now += 1;
      expect(await store.get("k")).toBeUndefined();
    });

    it("a new value has a new time to live", async () => {
      let now = Date.now();
      await using subject = await openSubject();
      await using store = subject.open({ now: () => now });
      await store.set("k", 1, { ttlMs: 60_000 });
      await store.set("k", 2);
      now += 60_000;
      expect(await store.get("k")).toBe(2);
    });

    it("expired entries are not listed", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      await store.set("short", 1, { ttlMs: 20 });
      await store.set("long", 1, { ttlMs: 60_000 });
      await eventually(async () => (await store.list("")).length === 1);
      expect(await store.list("")).toEqual(["long"]);
    });

    it("changing a value after set or get does not change the entry", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const value = { tools: [{ name: "a" }] };
      await store.set("k", value);
      value.tools.push({ name: "added by writer" });
      const read = (await store.get("k")) as typeof value;
      expect(read).toEqual({ tools: [{ name: "a" }] });
      try {
        read.tools.push({ name: "added by reader" });
      } catch {
        // A frozen value is fine, too.
      }
      expect(await store.get("k")).toEqual({ tools: [{ name: "a" }] });
    });

    it("values of several megabytes are stored", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const tools = times(3_000, (n) => ({
        name: `tool_${n}`,
        description: `The tool with the number ${n}, for tests. `.repeat(8),
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      }));
      await store.set("tools", tools);
      expect(await store.get("tools")).toEqual(tools);
    });

    it.each(INVALID_VALUES)("a value with %s is rejected without being quoted", async (_, create) => {
      await using subject = await openSubject();
      await using store = subject.open();
      const error = await rejection(store.set("k", create()));
      expect(error).toMatchObject({ kind: "invalid-config" });
      expect(error.message).not.toContain(SECRET);
      expect(await store.get("k")).toBeUndefined();
    });

    it("invalid keys and times to live are rejected", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const calls = [
        store.get(""),
        store.set("k".repeat(513), 1),
        store.delete("\ud800"),
        store.get(7 as never),
        store.list(undefined as never),
        ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, "1"].map((ttlMs) =>
          store.set("k", 1, { ttlMs: ttlMs as number }),
        ),
      ];
      const errors = await Promise.all(calls.map(rejection));
      expect(errors.map(({ kind }) => kind)).toEqual(calls.map(() => "invalid-config"));
      expect(await store.list("")).toEqual([]);
    });

    it("a value that is too large is rejected with its size and the previous value is kept", async () => {
      await using subject = await openSubject();
      await using store = subject.open({ maxBytes: 1_000 });
      await store.set("k", "small");
      const error = await rejection(store.set("k", SECRET.repeat(1_000)));
      expect(error).toMatchObject({ kind: "too-large", message: expect.stringContaining("bytes") });
      expect(error.message).not.toContain(SECRET);
      expect(await store.get("k")).toBe("small");
    });

    it("an aborted signal rejects with its reason without effect", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const signal = AbortSignal.abort("enough");
      const calls = [
        store.set("k", 1, { signal }),
        store.get("k", { signal }),
        store.delete("k", { signal }),
        store.list("", { signal }),
      ];
      expect(await Promise.all(calls.map(rejection))).toEqual(calls.map(() => "enough"));
      expect(await store.get("k")).toBeUndefined();
    });

    it("a closed store rejects with kind closed and can be closed again", async () => {
      await using subject = await openSubject();
      const store = subject.open();
      await store.set("k", 1);
      await store.close();
      expect(await rejection(store.get("k"))).toMatchObject({ kind: "closed" });
      expect(await rejection(store.set("k", 2))).toMatchObject({ kind: "closed" });
      await store.close();
    });

    it("concurrent operations do not interfere", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      await Promise.all(times(100, (n) => store.set(`k${n % 10}`, { n, text: "x".repeat(1_000) })));
      const read = await Promise.all(times(10, (n) => store.get(`k${n}`)));
      expect(read.map((value) => (value as { n: number }).n % 10)).toEqual(times(10, (n) => n));
    });

    if (!isShared) return;

    it.each(INVALID_RECORDS)("%s is ignored with a warning that does not quote it", async (_, text) => {
      await using subject = await openSubject();
      const logger = new RecordingLogger();
      await using store = subject.open({ logger });
      await subject.writeRaw?.("k", text);
      expect(await store.get("k")).toBeUndefined();
      expect(logger.warnings).toEqual([expect.stringMatching(/^Ignored the entry "k" of .*: it .*\.$/)]);
      expect(logger.warnings.join()).not.toContain(SECRET);
      await store.set("k", "valid");
      expect(await store.get("k")).toBe("valid");
    });

    it("a record larger than maxBytes is not read", async () => {
      await using subject = await openSubject();
      const logger = new RecordingLogger();
      await using store = subject.open({ maxBytes: 1_000, logger });
      await subject.writeRaw?.("k", `{"format":1,"key":"k"}\n"${"x".repeat(5_000)}"`);
      expect(await store.get("k")).toBeUndefined();
      expect(logger.warnings).toEqual([expect.stringContaining("maxBytes")]);
    });

    it("a valid record of another writer is read", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      await subject.writeRaw?.("k", `{"format":1,"key":"k"}\n{"a":1}`);
      expect(await store.get("k")).toEqual({ a: 1 });
    });

    it("two stores on one backend share entries and lose none", async () => {
      await using subject = await openSubject();
      await using first = subject.open();
      await using second = subject.open();
      await Promise.all(times(40, (n) => (n % 2 === 0 ? first : second).set(`k${n}`, n)));
      const read = await Promise.all(times(40, (n) => (n % 2 === 0 ? second : first).get(`k${n}`)));
      expect(read).toEqual(times(40, (n) => n));
      await second.delete("k0");
      expect(await first.get("k0")).toBeUndefined();
    });

    if (hasNamespaces)
      it("two namespaces do not share entries", async () => {
        await using subject = await openSubject();
        await using first = subject.open({ namespace: "first" });
        await using second = subject.open({ namespace: "second" });
        await first.set("k", 1);
        expect(await second.get("k")).toBeUndefined();
        expect(await second.list("")).toEqual([]);
        await second.delete("k");
        expect(await first.get("k")).toBe(1);
      });

    if (hasFeed)
      it("watch reports changes of other stores but not its own", async () => {
        await using subject = await openSubject();
        await using store = subject.open();
        await using other = subject.open();
        const changes: (string | undefined)[] = [];
        const unwatch = await store.watch?.((key) => changes.push(key));
        await store.set("own", 1);
        await other.set("a b", 1);
        await other.delete("ä");
        await eventually(() => changes.length === 2);
        expect(changes).toEqual(["a b", "ä"]);
        await unwatch?.();
        await other.set("later", 1);
        expect(await store.get("later")).toBe(1);
        expect(changes).toHaveLength(2);
      });
    else
      it("watch is undefined", async () => {
        await using subject = await openSubject();
        await using store = subject.open();
        expect(store.watch).toBeUndefined();
      });

    if (hasLeases) describeLeases(openSubject);
    else
      it("lease is undefined", async () => {
        await using subject = await openSubject();
        await using store = subject.open();
        expect(store.lease).toBeUndefined();
      });
  });
}

const LONG_LEASE = { ttlMs: 60_000 };

function describeLeases(openSubject: () => Promise<StoreSubject>): void {
  it("one of many clients gets a lease, and another one after it was released", async () => {
    await using subject = await openSubject();
    await using store = subject.open();
    await using other = subject.open();
    const all = await Promise.all(
      times(10, async (n) => (n % 2 === 0 ? store : other).lease?.("k", LONG_LEASE)),
    );
    const leases = all.filter((lease) => lease !== undefined);
    expect(leases).toHaveLength(1);
    expect(await other.lease?.("other", LONG_LEASE)).toBeDefined();
    expect(await leases[0]?.renew()).toBe(true);
    await leases[0]?.release();
    expect(await leases[0]?.renew()).toBe(false);
    expect(await other.lease?.("k", LONG_LEASE)).toBeDefined();
  });

  it("a lease that has expired can be taken, and its former holder neither renews nor releases it", async () => {
    await using subject = await openSubject();
    await using store = subject.open();
    await using other = subject.open();
    const expired = await store.lease?.("k", { ttlMs: 20 });
    await eventually(async () => (await other.lease?.("k", LONG_LEASE)) !== undefined);
    expect(await expired?.renew()).toBe(false);
    await expired?.release();
    expect(await store.lease?.("k", LONG_LEASE)).toBeUndefined();
  });

  it("a renewed lease lasts for its whole time again", async () => {
    await using subject = await openSubject();
    await using store = subject.open();
    await using other = subject.open();
    const ttlMs = 400;
    const startedAt = performance.now();
    const lease = await store.lease?.("k", { ttlMs });
    let isHeld = true;
    while (isHeld && performance.now() - startedAt < 2 * ttlMs) {
      const attempt = await other.lease?.("k", { ttlMs });
      // Lost only if this machine was too busy to renew it.
      isHeld = (await lease?.renew()) === true;
      expect([isHeld, attempt]).toEqual(isHeld ? [true, undefined] : [false, expect.anything()]);
    }
  });

  it("what another writer has left at the key counts as taken, and stays", async () => {
    await using subject = await openSubject();
    await using store = subject.open({ logger: new RecordingLogger() });
    await using other = subject.open();
    await subject.writeRaw?.("k", SECRET);
    expect(await store.lease?.("k", LONG_LEASE)).toBeUndefined();
    await subject.writeRaw?.("k", `{"format":1,"key":"k"}\n1`);
    expect(await store.get("k")).toBe(1);
    const replaced = await store.lease?.("replaced", LONG_LEASE);
    await subject.writeRaw?.("replaced", `{"format":1,"key":"replaced"}\n1`);
    expect(await replaced?.renew()).toBe(false);
    await replaced?.release();
    expect(await other.get("replaced")).toBe(1);
  });

  it("leases of two namespaces are independent", async () => {
    await using subject = await openSubject();
    await using first = subject.open({ namespace: "first" });
    await using second = subject.open({ namespace: "second" });
    expect(await first.lease?.("k", LONG_LEASE)).toBeDefined();
    const lease = await second.lease?.("k", LONG_LEASE);
    await lease?.release();
    expect(await first.lease?.("k", LONG_LEASE)).toBeUndefined();
  });

  it("watch does not report leases", async () => {
    await using subject = await openSubject();
    await using store = subject.open();
    await using other = subject.open();
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    const lease = await other.lease?.("leases/k", LONG_LEASE);
    await lease?.renew();
    await lease?.release();
    await other.set("k", 1);
    if (store.watch !== undefined) await eventually(() => changes.length > 0);
    expect(changes).toEqual(store.watch === undefined ? [] : ["k"]);
  });

  it.each([0, -1, Number.NaN])("a lease of %d ms is rejected", async (ttlMs) => {
    await using subject = await openSubject();
    await using store = subject.open();
    const error = await rejection(Promise.resolve(store.lease?.("k", { ttlMs })));
    expect(error).toMatchObject({ kind: "invalid-config" });
  });
}

function createCyclicValue(): unknown {
  const value: Record<string, unknown> = { secret: SECRET };
  value["self"] = value;
  return value;
}
