/** Random numbers that a seed brings back. */
export interface Dice {
  readonly chance: (probability: number) => boolean;
  /** A whole number; both ends are included. */
  readonly between: (least: number, most: number) => number;
  readonly oneOf: <T>(values: readonly [T, ...T[]]) => T;
  /** Dice of their own for one part: what others roll meanwhile changes nothing for it. */
  readonly fork: () => Dice;
}

/** By mulberry32: small, fast, and good enough for faults. */
export function createDice(seed: number): Dice {
  let state = Math.trunc(seed);
  const roll = (): number => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(roll() * (most - least + 1));
  return {
    chance: (probability) => roll() < probability,
    between,
    oneOf: (values) => values[between(0, values.length - 1)] ?? values[0],
    fork: () => createDice(roll() * 2 ** 32),
  };
}
