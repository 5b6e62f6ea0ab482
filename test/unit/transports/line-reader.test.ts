import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader, type LineLimits } from "../../../src/transports/stdio/line-reader.js";

/** What a reader tells of these pieces, lines as texts. */
function read(pieces: readonly (string | Buffer)[], limits: LineLimits = { maxBytes: 1_000 }): string[] {
  const told: string[] = [];
  const reader = new LineReader(limits, {
    onLine: (line) => told.push(line.toString()),
    onLongLine: ({ head, tail }) => told.push(`long: ${head.length} ${String(tail.subarray(-4))}`),
    onEndlessLine: () => told.push("endless"),
  });
  for (const piece of pieces) reader.data(Buffer.from(piece as string));
  reader.end();
  return told;
}

describe("a line reader", () => {
  it("gives lines without their breaks, the last one also when it has none", () => {
    expect(read(["one\ntwo\n\nthr", "ee"])).toEqual(["one", "two", "", "three"]);
  });

  it("gives the same lines however the bytes are cut", () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", ""));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(200)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(""));
        const places = cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b);
        const pieces = [0, ...places].map((from, index) =>
          bytes.subarray(from, places[index] ?? bytes.length),
        );
        expect(read(pieces)).toEqual(lines);
      }),
    );
  });

  it("keeps the two ends of a line that is too long, and goes on with the next", () => {
    expect(read(["a\n", "b".repeat(6_000), "c".repeat(6_000), "end\nnext\n"])).toEqual([
      "a",
      "long: 4096 cend",
      "next",
    ]);
    expect(read([`${"b".repeat(1_001)}\nnext\n`])).toEqual(["long: 1001 bbbb", "next"]);
    expect(read(["b".repeat(900), "c".repeat(200)])).toEqual(["long: 1100 cccc"]);
  });

  it("takes a line of exactly the limit", () => {
    expect(read(["b".repeat(600), `${"b".repeat(400)}\n`])).toEqual(["b".repeat(1_000)]);
  });

  it("says once when a line is not worth waiting for its end", () => {
    const pieces = Array.from({ length: 30 }, () => "x".repeat(500));
    const limits = { maxBytes: 1_000, maxSkippedBytes: 10_000 };
    expect(read([...pieces, "\nnext\n", ...pieces], limits)).toEqual([
      "endless",
      "long: 1500 xxxx",
      "next",
      "endless",
      "long: 1500 xxxx",
    ]);
  });

  it("needs no more memory than the limit for a line that comes byte by byte", () => {
    const before = process.memoryUsage().arrayBuffers;
    const reader = new LineReader(
      { maxBytes: 1024 * 1024 },
      { onLine: () => undefined, onLongLine: () => undefined },
    );
    const byte = Buffer.from("x");
    for (let index = 0; index < 1024 * 1024; index += 1) reader.data(byte);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });
});
