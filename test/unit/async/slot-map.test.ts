import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SlotMap } from "../../../src/async/slot-map.js";
import { collectGarbage, collectYoungGarbage } from "../../fixtures/collect-garbage.js";

describe("SlotMap", () => {
  it("keeps current values in insertion order", () => {
    const map = new SlotMap<number, string>();
    for (const key of [1, 2, 3]) map.set(key, `v${key}`);
    map.delete(2);
    map.set(4, "v4");
    expect(map.values()).toEqual(["v1", "v3", "v4"]);
    expect([map.get(2), map.get(4)]).toEqual([undefined, "v4"]);
  });

  it("does not retain deleted values, even when the map itself is tenured", () => {
    const map = new SlotMap<number, number[]>();
    const churn = (from: number, to: number) => {
      for (let key = from; key < to; key += 1) {
        map.set(
          key,
          Array.from({ length: 500 }, () => key),
        );
        map.delete(key - 64);
      }
    };
    churn(0, 100);
    collectGarbage();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    churn(100, 10_100);
    collectYoungGarbage();
    const churnedBytes = 10_000 * 500 * 8;
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(churnedBytes / 4);
  });

  it("behaves like a Map for random operations", () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 7 }), isDelete: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const [map, model] = [new SlotMap<number, object>(), new Map<number, object>()];
        for (const { key, isDelete } of steps) {
          if (isDelete) {
            map.delete(key);
            model.delete(key);
          } else {
            const value = { key };
            map.set(key, value);
            model.set(key, value);
          }
          expect(map.get(key)).toBe(model.get(key));
          expect(map.size).toBe(model.size);
        }
        expect(map.values()).toEqual([...model.values()]);
      }),
    );
  });
});
