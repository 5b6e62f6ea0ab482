import { describe, expect, it } from "vitest";
import { Roster, type RosterPlace } from "../../../src/async/linked-set.js";
import { createDice } from "../../fixtures/seeded-random.js";

describe("a roster", () => {
  it("tells who is there in the order in which they came, whoever left", () => {
    const roster = new Roster<string>();
    const [a, b, c] = ["a", "b", "c"].map((value) => roster.enter(value)) as RosterPlace<string>[];
    expect(roster.all()).toEqual(["a", "b", "c"]);
    roster.leave(b as RosterPlace<string>);
    roster.leave(b as RosterPlace<string>);
    expect(roster.all()).toEqual(["a", "c"]);
    roster.leave(a as RosterPlace<string>);
    expect(roster.all()).toEqual(["c"]);
    roster.leave(c as RosterPlace<string>);
    expect(roster.isEmpty).toBe(true);
  });

  it("holds the same as a set, whatever is done to both", () => {
    const dice = createDice(7);
    const roster = new Roster<number>();
    const places = new Map<number, RosterPlace<number>>();
    for (let n = 0; n < 2_000; n += 1) {
      const leaving = [...places.keys()][dice.between(0, places.size * 2)];
      if (leaving === undefined) places.set(n, roster.enter(n));
      else {
        roster.leave(places.get(leaving) as RosterPlace<number>);
        places.delete(leaving);
      }
      expect(roster.all()).toEqual([...places.keys()]);
    }
  });
});
