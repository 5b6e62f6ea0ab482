import { describe, expect, it } from "vitest";
import { mapLimited } from "../../../src/async/map-concurrent.js";

/** Work that ends when the test says so, item by item. */
function heldWork() {
  const started: string[] = [];
  const finish: Record<string, () => void> = {};
  const work = (item: string) => {
    started.push(item);
    return new Promise<string>((resolve) => {
      finish[item] = () => resolve(item.toUpperCase());
    });
  };
  return { started, finish, work };
}

describe("mapLimited", () => {
  it("results keep the list's order, whoever is first", async () => {
    const { finish, work } = heldWork();
    const mapped = mapLimited(["a", "b", "c"], 3, work);
    for (const item of ["c", "a", "b"]) finish[item]?.();
    await expect(mapped).resolves.toEqual(["A", "B", "C"]);
  });

  it("starts no more than the limit", () => {
    const { started, work } = heldWork();
    void mapLimited(["a", "b", "c"], 2, work);
    expect(started).toEqual(["a", "b"]);
  });

  it("starts the next one when one is done", async () => {
    const { started, finish, work } = heldWork();
    void mapLimited(["a", "b", "c", "d"], 2, work);
    finish["b"]?.();
    await expect.poll(() => started).toEqual(["a", "b", "c"]);
  });

  it("tells the work where its item stands", async () => {
    await expect(mapLimited(["a", "b"], 1, async (item, index) => `${index}${item}`)).resolves.toEqual([
      "0a",
      "1b",
    ]);
  });

  it("a limit larger than the list starts everything", () => {
    const { started, work } = heldWork();
    void mapLimited(["a", "b"], Number.POSITIVE_INFINITY, work);
    expect(started).toEqual(["a", "b"]);
  });

  it("nothing to do gives nothing", async () => {
    await expect(mapLimited([], 4, () => expect.unreachable())).resolves.toEqual([]);
  });

  it("fails with the first failure", async () => {
    const failure = new Error("broken");
    const work = (item: string) => (item === "b" ? Promise.reject(failure) : Promise.resolve(item));
    await expect(mapLimited(["a", "b", "c"], 2, work)).rejects.toBe(failure);
  });

  it("work that throws at once is a failure like any other", async () => {
    const failing = mapLimited(["a"], 1, () => {
      throw new Error("broken");
    });
    await expect(failing).rejects.toThrow("broken");
  });

  it("a limit of 0 is refused, not answered with holes", async () => {
    const results = await mapLimited(["a"], 0, async (item) => item).catch(() => "denied");
    expect(results).not.toEqual([undefined]);
  });

  it("after a failure nothing more is started", async () => {
    const started: string[] = [];
    const work = async (item: string) => {
      started.push(item);
      if (item === "a") throw new Error("broken");
    };
    await mapLimited(["a", "b", "c", "d", "e", "f"], 2, work).catch(() => undefined);
    await new Promise(setImmediate);
    expect(started).not.toContain("f");
  });
});
