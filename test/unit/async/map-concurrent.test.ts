import { describe, expect, it } from "vitest";
import { mapConcurrent } from "../../../src/async/semaphore.js";

/** Work that the test completes item by item. */
function controlledWork() {
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

describe("mapConcurrent", () => {
  it("results keep the order of the items", async () => {
    const { finish, work } = controlledWork();
    const mapped = mapConcurrent(["a", "b", "c"], 3, work);
    for (const item of ["c", "a", "b"]) finish[item]?.();
    await expect(mapped).resolves.toEqual(["A", "B", "C"]);
  });

  it("starts at most as many as the limit", () => {
    const { started, work } = controlledWork();
    void mapConcurrent(["a", "b", "c"], 2, work);
    expect(started).toEqual(["a", "b"]);
  });

  it("starts the next item when one completes", async () => {
    const { started, finish, work } = controlledWork();
    void mapConcurrent(["a", "b", "c", "d"], 2, work);
    finish["b"]?.();
    await expect.poll(() => started).toEqual(["a", "b", "c"]);
  });

  it("passes the index to the work", async () => {
    await expect(mapConcurrent(["a", "b"], 1, async (item, index) => `${index}${item}`)).resolves.toEqual([
      "0a",
      "1b",
    ]);
  });

  it("a limit above the number of items starts everything", () => {
    const { started, work } = controlledWork();
    void mapConcurrent(["a", "b"], Number.POSITIVE_INFINITY, work);
    expect(started).toEqual(["a", "b"]);
  });

  it("without items the result is empty", async () => {
    await expect(mapConcurrent([], 4, () => expect.unreachable())).resolves.toEqual([]);
  });

  it("rejects with the first error", async () => {
    const failure = new Error("broken");
    const work = (item: string) => (item === "b" ? Promise.reject(failure) : Promise.resolve(item));
    await expect(mapConcurrent(["a", "b", "c"], 2, work)).rejects.toBe(failure);
  });

  it("work that throws synchronously rejects", async () => {
    const failing = mapConcurrent(["a"], 1, () => {
      throw new Error("broken");
    });
    await expect(failing).rejects.toThrow("broken");
  });

  it("a limit of 0 does not return holes", async () => {
    const results = await mapConcurrent(["a"], 0, async (item) => item).catch(() => "rejected");
    expect(results).not.toEqual([undefined]);
  });

  it("after a failure no further item is started", async () => {
    const started: string[] = [];
    const work = async (item: string) => {
      started.push(item);
      if (item === "a") throw new Error("broken");
    };
    await mapConcurrent(["a", "b", "c", "d", "e", "f"], 2, work).catch(() => undefined);
    await new Promise(setImmediate);
    expect(started).not.toContain("f");
  });
});
