import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader, type LineLimits } from "../../../src/transports/stdio/line-reader.js";

/** Returns the events of a reader for these chunks, lines as strings. */
function read(chunks: readonly (string | Buffer)[], limits: LineLimits = { maxBytes: 1_000 }): string[] {
  const events: string[] = [];
  const reader = new LineReader(limits, {
    onLine: (line) => events.push(line.toString()),
    onTruncatedLine: ({ head, tail }) =>
      events.push(`truncated: ${head.length} ${String(tail.subarray(-4))}`),
    onUnboundedLine: () => events.push("unbounded"),
  });
  for (const chunk of chunks) reader.data(Buffer.from(chunk as string));
  reader.end();
  return events;
}

describe("LineReader", () => {
  it("emits lines without their line breaks, including a last line that has none", () => {
    expect(read(["one\ntwo\n\nthr", "ee"])).toEqual(["one", "two", "", "three"]);
  });

  it("emits the same lines however the bytes are split", () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", ""));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(200)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(""));
        const offsets = cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b);
        const chunks = [0, ...offsets].map((from, index) =>
          bytes.subarray(from, offsets[index] ?? bytes.length),
        );
        expect(read(chunks)).toEqual(lines);
      }),
    );
  });

  it("keeps the start and the end of an oversized line and continues with the next one", () => {
    expect(read(["a\n", "b".repeat(6_000), "c".repeat(6_000), "end\nnext\n"])).toEqual([
      "a",
      "truncated: 4096 cend",
      "next",
    ]);
    expect(read([`${"b".repeat(1_001)}\nnext\n`])).toEqual(["truncated: 1001 bbbb", "next"]);
    expect(read(["b".repeat(900), "c".repeat(200)])).toEqual(["truncated: 1100 cccc"]);
  });

  it("accepts a line of exactly the limit", () => {
    expect(read(["b".repeat(600), `${"b".repeat(400)}\n`])).toEqual(["b".repeat(1_000)]);
  });

  it("reports an unbounded line once", () => {
    const chunks = Array.from({ length: 30 }, () => "x".repeat(500));
    const limits = { maxBytes: 1_000, maxSkippedBytes: 10_000 };
    expect(read([...chunks, "\nnext\n", ...chunks], limits)).toEqual([
      "unbounded",
      "truncated: 1500 xxxx",
      "next",
      "unbounded",
      "truncated: 1500 xxxx",
    ]);
  });

  it("uses no more memory than the limit for a line that arrives byte by byte", () => {
    const before = process.memoryUsage().arrayBuffers;
    const reader = new LineReader(
      { maxBytes: 1024 * 1024 },
      { onLine: () => undefined, onTruncatedLine: () => undefined },
    );
    const byte = Buffer.from("x");
    for (let index = 0; index < 1024 * 1024; index += 1) reader.data(byte);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });
});
