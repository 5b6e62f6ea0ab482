import { describe, expect, it } from "vitest";
import { LinkedSet, type LinkedNode } from "../../../src/async/linked-set.js";
import { createSeededRandom } from "../../fixtures/seeded-random.js";

describe("LinkedSet", () => {
  it("keeps insertion order after deletions", () => {
    const set = new LinkedSet<string>();
    const [a, b, c] = ["a", "b", "c"].map((value) => set.add(value)) as LinkedNode<string>[];
    expect(set.values()).toEqual(["a", "b", "c"]);
    set.delete(b as LinkedNode<string>);
    set.delete(b as LinkedNode<string>);
    expect(set.values()).toEqual(["a", "c"]);
    set.delete(a as LinkedNode<string>);
    expect(set.values()).toEqual(["c"]);
    set.delete(c as LinkedNode<string>);
    expect(set.isEmpty).toBe(true);
  });

  it("behaves like a Set for random operations", () => {
    const dice = createSeededRandom(7);
    const set = new LinkedSet<number>();
    const nodes = new Map<number, LinkedNode<number>>();
    for (let n = 0; n < 2_000; n += 1) {
      const deleted = [...nodes.keys()][dice.between(0, nodes.size * 2)];
      if (deleted === undefined) nodes.set(n, set.add(n));
      else {
        set.delete(nodes.get(deleted) as LinkedNode<number>);
        nodes.delete(deleted);
      }
      expect(set.values()).toEqual([...nodes.keys()]);
    }
  });
});
