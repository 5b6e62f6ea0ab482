import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TransientMap } from "../../../src/async/slot-map.js";
import { collectGarbage, collectYoungGarbage } from "../../fixtures/collect-garbage.js";

describe("a map of what comes and goes", () => {
  it("has what came and has not gone, in the order in which it came", () => {
    const map = new TransientMap<number, string>();
    for (const key of [1, 2, 3]) map.set(key, `v${key}`);
    map.delete(2);
    map.set(4, "v4");
    expect(map.all()).toEqual(["v1", "v3", "v4"]);
    expect([map.has(2), map.get(2), map.get(4)]).toEqual([false, undefined, "v4"]);
  });

  it("is empty after clear, and takes more", () => {
    const map = new TransientMap<number, string>();
    map.set(1, "a");
    map.clear();
    map.delete(1);
    map.set(2, "b");
    expect([map.get(1), map.all()]).toEqual([undefined, ["b"]]);
  });

  it("keeps nothing of what has gone, also when it has grown old itself", () => {
    const map = new TransientMap<number, number[]>();
    const pass = (from: number, to: number) => {
      for (let key = from; key < to; key += 1) {
        map.set(
          key,
          Array.from({ length: 500 }, () => key),
        );
        map.delete(key - 64);
      }
    };
    pass(0, 100);
    collectGarbage();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    pass(100, 10_100);
    collectYoungGarbage();
    const passedBytes = 10_000 * 500 * 8;
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(passedBytes / 4);
  });

  it("is a Map, whatever comes and goes", () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 7 }), isGoing: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const [map, model] = [new TransientMap<number, object>(), new Map<number, object>()];
        for (const { key, isGoing } of steps) {
          if (isGoing) {
            map.delete(key);
            model.delete(key);
          } else {
            const value = { key };
            map.set(key, value);
            model.set(key, value);
          }
          expect(map.get(key)).toBe(model.get(key));
          expect(map.has(key)).toBe(model.has(key));
        }
        expect(map.all()).toEqual([...model.values()]);
      }),
    );
  });
});
