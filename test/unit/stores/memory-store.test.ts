import { describe, expect, it } from "vitest";
import { memoryStore } from "../../../src/stores/index.js";
import { times } from "../../fixtures/clients.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

describe("a memory store", () => {
  it("evicts the least recently used entries above maxEntries", async () => {
    await using store = memoryStore({ maxEntries: 3 });
    for (const key of ["a", "b", "c"]) await store.set(key, key);
    await store.get("a");
    await store.set("d", "d");
    expect(await store.list("")).toEqual(["a", "c", "d"]);
  });

  it("evicts the least recently used entries above maxTotalBytes", async () => {
    await using store = memoryStore({ maxTotalBytes: 1_000 });
    for (const n of times(10, (index) => index)) await store.set(`k${n}`, "x".repeat(298));
    expect(await store.list("")).toEqual(["k7", "k8", "k9"]);
    await store.set("k9", "small");
    await store.set("k1", "x".repeat(298));
    expect(await store.list("")).toEqual(["k1", "k7", "k8", "k9"]);
    await store.set("whole", "x".repeat(998));
    expect(await store.list("")).toEqual(["whole"]);
    await store.delete("whole");
    await store.set("k", "x".repeat(998));
    expect(await store.list("")).toEqual(["k"]);
  });

  it("returns the same frozen value on every read", async () => {
    await using store = memoryStore();
    await store.set("k", { list: [{ a: 1 }] });
    const value = (await store.get("k")) as { list: object[] };
    expect(await store.get("k")).toBe(value);
    expect([value, value.list, value.list[0]].every((part) => Object.isFrozen(part))).toBe(true);
  });

  it("validates its limits", () => {
    const { issues } = catchConfigError(() => memoryStore({ maxEntries: 0, maxTotalBytes: Number.NaN }));
    expect(issues).toMatchObject([{ path: "maxEntries" }, { path: "maxTotalBytes" }]);
  });
});
