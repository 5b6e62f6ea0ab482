import { describe, expect, it } from "vitest";
import type { KeyValueStore } from "../../src/stores/index.js";
import type { Logger } from "../../src/index.js";
import { eventually, failureOf, times } from "../fixtures/clients.js";

interface OpenStoreOptions {
  readonly now?: () => number;
  readonly logger?: Logger;
  readonly maxBytes?: number;
  readonly namespace?: string;
}

/** A place where entries are kept. */
export interface StoreSubject extends AsyncDisposable {
  /** Another store at the same place, every time. */
  readonly open: (options?: OpenStoreOptions) => KeyValueStore;
  /** Puts a text where the entry of a key is kept, as anybody could who can write there. */
  readonly plant?: (key: string, text: string) => Promise<void>;
}

export interface StoreTraits {
  /** Others use the same place. */
  readonly isShared: boolean;
  readonly hasNamespaces: boolean;
  readonly hasFeed: boolean;
}

/** A canary: it must never be seen in a message. */
const SECRET = "canary-8d1f";

const GARBAGE: readonly (readonly [what: string, text: string])[] = [
  ["no JSON at all", SECRET],
  ["JSON of another kind", JSON.stringify([SECRET])],
  ["a value without its first line", `{"value":"${SECRET}"}\n"${SECRET}"`],
  ["an entry of another key", `{"format":1,"key":"other"}\n"${SECRET}"`],
  ["an entry of another format", `{"format":2,"key":"k"}\n"${SECRET}"`],
  ["a first line that hides its key", `{"format":1,"__proto__":{"key":"k"}}\n"${SECRET}"`],
  ["a moment that is none", `{"format":1,"key":"k","expiresAt":"${SECRET}"}\n1`],
  ["half an entry", `{"format":1,"key":"k"}\n{"a":"${SECRET}`],
  ["an entry without a value", `{"format":1,"key":"k"}\n`],
  ["half a text", `{"format":1,"key":"k","textLength":20}\n${SECRET}`],
  ["more than its text", `{"format":1,"key":"k","textLength":1}\n${SECRET}`],
  ["a length that is none", `{"format":1,"key":"k","textLength":"${SECRET}"}\n${SECRET}`],
  ["a first line without end", `{"format":1,"key":"k","more":"${"x".repeat(10_000)}"}\n1`],
  ["a key that changes prototypes", `{"format":1,"key":"k"}\n{"a":[{"__proto__":{"b":"${SECRET}"}}]}`],
  ["the same, written otherwise", String.raw`{"format":1,"key":"k"}${"\n"}{"\u005f_proto__":{}}`],
  ["a hundred thousand brackets", `{"format":1,"key":"k"}\n${"[".repeat(100_000)}${"]".repeat(100_000)}`],
];

const REFUSED: readonly (readonly [what: string, make: () => unknown])[] = [
  ["nothing", () => undefined],
  ["a function", () => ({ secret: SECRET, run: () => 1 })],
  ["a number that JSON does not have", () => [SECRET, Number.NaN]],
  ["an instance of a class", () => [SECRET, new Map([[SECRET, SECRET]])]],
  ["a key that changes prototypes", () => JSON.parse(`{"a":[{"__proto__":{"b":"${SECRET}"}}]}`)],
  ["itself", containsItself],
  ["too many levels", () => times(501, () => 0).reduce<unknown>((inner) => [inner], SECRET)],
];

/** What every store keeps, wherever that is. */
export function describeStore(
  name: string,
  { isShared, hasNamespaces, hasFeed }: StoreTraits,
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
    ])("%j comes back as it was", async (value) => {
      await using subject = await openSubject();
      await using store = subject.open();
      await store.set("k", value);
      expect(await store.get("k")).toEqual(value);
    });

    it("nothing is where nothing was set, and can be deleted", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      expect(await store.get("k")).toBeUndefined();
      expect(await store.list("")).toEqual([]);
      await store.delete("k");
    });

    it("the last value stays until it is deleted", async () => {
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

    it("any text is a key", async () => {
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
      const found = await Promise.all(keys.map((key) => store.get(key)));
      expect(found).toEqual(keys.map((key) => `value of ${key}`));
      expect(await store.list("")).toEqual(keys.toSorted());
    });

    it("keys are listed by their beginning, in order", async () => {
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

    it("more keys are listed than fit into one answer", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const keys = times(250, (n) => `many/${String(n).padStart(3, "0")}`);
      await Promise.all(keys.map((key) => store.set(key, 1)));
      expect(await store.list("many/")).toEqual(keys);
    });

    it("an entry is there until its time is over, by the clock", async () => {
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

    it("a new value has a new time", async () => {
      let now = Date.now();
      await using subject = await openSubject();
      await using store = subject.open({ now: () => now });
      await store.set("k", 1, { ttlMs: 60_000 });
      await store.set("k", 2);
      now += 60_000;
      expect(await store.get("k")).toBe(2);
    });

    it("what has expired is not listed", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      await store.set("short", 1, { ttlMs: 20 });
      await store.set("long", 1, { ttlMs: 60_000 });
      await eventually(async () => (await store.list("")).length === 1);
      expect(await store.list("")).toEqual(["long"]);
    });

    it("a value belongs to whoever set it, a copy to whoever reads it", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const value = { tools: [{ name: "a" }] };
      await store.set("k", value);
      value.tools.push({ name: "mine" });
      const read = (await store.get("k")) as typeof value;
      expect(read).toEqual({ tools: [{ name: "a" }] });
      try {
        read.tools.push({ name: "theirs" });
      } catch {
        // Frozen is as good.
      }
      expect(await store.get("k")).toEqual({ tools: [{ name: "a" }] });
    });

    it("megabytes are kept", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const tools = times(3_000, (n) => ({
        name: `tool_${n}`,
        description: `The tool with the number ${n}, which does what it says. `.repeat(8),
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      }));
      await store.set("tools", tools);
      expect(await store.get("tools")).toEqual(tools);
    });

    it.each(REFUSED)("a value that holds %s is refused, and not told", async (_, make) => {
      await using subject = await openSubject();
      await using store = subject.open();
      const error = await failureOf(store.set("k", make()));
      expect(error).toMatchObject({ kind: "invalid-config" });
      expect(error.message).not.toContain(SECRET);
      expect(await store.get("k")).toBeUndefined();
    });

    it("keys and times that cannot be are refused", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const mistakes = [
        store.get(""),
        store.set("k".repeat(513), 1),
        store.delete("\ud800"),
        store.get(7 as never),
        store.list(undefined as never),
        ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, "1"].map((ttlMs) =>
          store.set("k", 1, { ttlMs: ttlMs as number }),
        ),
      ];
      const errors = await Promise.all(mistakes.map(failureOf));
      expect(errors.map(({ kind }) => kind)).toEqual(mistakes.map(() => "invalid-config"));
      expect(await store.list("")).toEqual([]);
    });

    it("what is too large is refused with its size, and what was there stays", async () => {
      await using subject = await openSubject();
      await using store = subject.open({ maxBytes: 1_000 });
      await store.set("k", "small");
      const error = await failureOf(store.set("k", SECRET.repeat(1_000)));
      expect(error).toMatchObject({ kind: "too-large", message: expect.stringContaining("bytes") });
      expect(error.message).not.toContain(SECRET);
      expect(await store.get("k")).toBe("small");
    });

    it("a signal that is aborted rejects with its reason, and nothing happens", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      const signal = AbortSignal.abort("enough");
      const uses = [
        store.set("k", 1, { signal }),
        store.get("k", { signal }),
        store.delete("k", { signal }),
        store.list("", { signal }),
      ];
      expect(await Promise.all(uses.map(failureOf))).toEqual(uses.map(() => "enough"));
      expect(await store.get("k")).toBeUndefined();
    });

    it("a closed store says so, and can be closed again", async () => {
      await using subject = await openSubject();
      const store = subject.open();
      await store.set("k", 1);
      await store.close();
      expect(await failureOf(store.get("k"))).toMatchObject({ kind: "closed" });
      expect(await failureOf(store.set("k", 2))).toMatchObject({ kind: "closed" });
      await store.close();
    });

    it("many uses at once do not get in each other's way", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      await Promise.all(times(100, (n) => store.set(`k${n % 10}`, { n, text: "x".repeat(1_000) })));
      const read = await Promise.all(times(10, (n) => store.get(`k${n}`)));
      expect(read.map((value) => (value as { n: number }).n % 10)).toEqual(times(10, (n) => n));
    });

    if (!isShared) return;

    it.each(GARBAGE)("%s counts as nothing, with a warning that tells nothing of it", async (_, text) => {
      await using subject = await openSubject();
      const warnings: string[] = [];
      const warn = (message: string) => void warnings.push(message);
      await using store = subject.open({ logger: { ...console, warn } });
      await subject.plant?.("k", text);
      expect(await store.get("k")).toBeUndefined();
      expect(warnings).toEqual([expect.stringMatching(/"k" .*; it is ignored\.$/)]);
      expect(warnings.join()).not.toContain(SECRET);
      await store.set("k", "sound");
      expect(await store.get("k")).toBe("sound");
    });

    it("what is larger than it may be is not read", async () => {
      await using subject = await openSubject();
      const warnings: string[] = [];
      const warn = (message: string) => void warnings.push(message);
      await using store = subject.open({ maxBytes: 1_000, logger: { ...console, warn } });
      await subject.plant?.("k", `{"format":1,"key":"k"}\n"${"x".repeat(5_000)}"`);
      expect(await store.get("k")).toBeUndefined();
      expect(warnings).toEqual([expect.stringContaining("maxBytes")]);
    });

    it("what is planted soundly is read: the place is shared, not secret", async () => {
      await using subject = await openSubject();
      await using store = subject.open();
      await subject.plant?.("k", `{"format":1,"key":"k"}\n{"a":1}`);
      expect(await store.get("k")).toEqual({ a: 1 });
    });

    it("two stores at one place see each other's entries, and lose none", async () => {
      await using subject = await openSubject();
      await using one = subject.open();
      await using other = subject.open();
      await Promise.all(times(40, (n) => (n % 2 === 0 ? one : other).set(`k${n}`, n)));
      const read = await Promise.all(times(40, (n) => (n % 2 === 0 ? other : one).get(`k${n}`)));
      expect(read).toEqual(times(40, (n) => n));
      await other.delete("k0");
      expect(await one.get("k0")).toBeUndefined();
    });

    if (hasNamespaces)
      it("two namespaces do not", async () => {
        await using subject = await openSubject();
        await using one = subject.open({ namespace: "one" });
        await using other = subject.open({ namespace: "other" });
        await one.set("k", 1);
        expect(await other.get("k")).toBeUndefined();
        expect(await other.list("")).toEqual([]);
        await other.delete("k");
        expect(await one.get("k")).toBe(1);
      });

    if (hasFeed)
      it("changes of others are told, one's own are not", async () => {
        await using subject = await openSubject();
        await using one = subject.open();
        await using other = subject.open();
        const told: (string | undefined)[] = [];
        const stop = await one.watch?.((key) => told.push(key));
        await one.set("mine", 1);
        await other.set("a b", 1);
        await other.delete("ä");
        await eventually(() => told.length === 2);
        expect(told).toEqual(["a b", "ä"]);
        await stop?.();
        await other.set("later", 1);
        expect(await one.get("later")).toBe(1);
        expect(told).toHaveLength(2);
      });
    else
      it("says that it cannot tell of changes", async () => {
        await using subject = await openSubject();
        await using store = subject.open();
        expect(store.watch).toBeUndefined();
      });
  });
}

function containsItself(): unknown {
  const value: Record<string, unknown> = { secret: SECRET };
  value["self"] = value;
  return value;
}
