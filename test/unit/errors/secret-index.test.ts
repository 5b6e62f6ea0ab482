import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SecretIndex } from "../../../src/errors/secret-index.js";
import { times } from "../../fixtures/clients.js";

function createIndex(secrets: Iterable<string>): SecretIndex {
  const index = new SecretIndex();
  for (const secret of secrets) index.add(secret);
  return index;
}

/** Compares every secret at every position. */
function redactSlowly(text: string, secrets: readonly string[]): string {
  const isSecret = Array.from(text, () => false);
  for (let position = 0; position < text.length; position += 1)
    for (const secret of secrets.filter((candidate) => candidate.length >= 4))
      if (text.startsWith(secret, position)) isSecret.fill(true, position, position + secret.length);
  const marked = Array.from(text, (character, position) => (isSecret[position] === true ? "\0" : character));
  return marked.join("").replaceAll(/\0+/g, "[redacted]");
}

describe("a secret index", () => {
  // Few characters: secrets that begin alike, contain and overlap each other.
  const word = fc.stringMatching(/^[ab]{0,9}$/);

  it("finds the same as a comparison with each secret, also after some were removed", () => {
    const lists = fc.tuple(fc.array(word), fc.array(word), fc.stringMatching(/^[abc]{0,14}$/));
    fc.assert(
      fc.property(lists, ([kept, removed, text]) => {
        const index = createIndex([...removed, ...kept]);
        for (const secret of removed) index.remove(secret);
        expect(index.redact(text)).toBe(redactSlowly(text, kept));
      }),
      { numRuns: 2_000 },
    );
  });

  it("is empty when all secrets were removed", () => {
    const secrets = times(300, (n) => "ab".repeat(n % 20) + "shared".repeat(n));
    const index = createIndex(secrets);
    for (const secret of secrets) index.remove(secret);
    const text = secrets.join(" ");
    expect(index.redact(text)).toBe(text);
    expect(index.steps).toBe(0);
  });

  it("replaces the rest of a text that takes too many steps", () => {
    const index = createIndex([`${"a".repeat(500)}b`, "late-secret"]);
    const redacted = index.redact(`first ${"a".repeat(9_000)} and late-secret`);
    expect(redacted).toMatch(/^first a*\[redacted\]$/);
  });
});

describe("the number of compared characters grows with the text, not with the secrets:", () => {
  const secretsBy: Record<string, (count: number) => string[]> = {
    "the same 500 characters and a number": (count) => times(count, (n) => "a".repeat(500) + n),
    "around 512 characters": (count) => times(count, (n) => `${"a".repeat(505 + (n % 15))}${n}`),
    "nested prefixes": (count) => times(count, (n) => "a".repeat(4 + n)),
    "suffixes of each other": (count) => times(count, (n) => `${"a".repeat(600 - (n % 590))}b${n}`),
    "several thousand characters": (count) => times(count, (n) => "a".repeat(3_000) + n),
  };
  const texts: Record<string, string> = {
    "one character": "a".repeat(4_000),
    "one character and ellipses": `${"a".repeat(511)}…`.repeat(8),
    "one character with others in between": `${"a".repeat(520)}c`.repeat(8),
    "the beginning of the secrets": `${"a".repeat(500)}1 `.repeat(8),
  };
  const cases = Object.keys(secretsBy).flatMap((secrets) =>
    Object.keys(texts).map((text) => [secrets, text]),
  );

  it.each(cases)("secrets of %s in a text of %s", (secrets = "", label = "") => {
    const text = texts[label] ?? "";
    for (const count of [1, 1_000]) {
      const index = createIndex(secretsBy[secrets]?.(count) ?? []);
      index.redact(text);
      // The last position may take as many steps as the text has characters.
      expect(index.steps).toBeLessThanOrEqual(17 * text.length);
    }
  });

  it("an ordinary text with many secrets takes fewer steps than it has characters", () => {
    const text = `Server "weather" failed: ${"the upstream request for Berlin timed out; ".repeat(20)}`;
    const index = createIndex(times(1_000, (n) => `the-${n}-secret of the server and time ${n}`));
    expect(index.redact(text)).toBe(text);
    expect(index.steps).toBeLessThan(text.length);
  });
});
