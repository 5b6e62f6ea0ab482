import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../../src/async/cancel-scope.js";
import { ResultText } from "../../../../src/tools/large-results/result-text.js";

/** Reads a text from its first line to its last. */
function readAll(text: ResultText, maxChars: number): string[] {
  const lines: string[] = [];
  for (let from = 1; ;) {
    const [, ...shown] = text.readLines({ from }).split("\n");
    const next = /^\[… continue with from: (\d+)\]$/.exec(shown.at(-1) ?? "")?.[1];
    const read = next === undefined ? shown : shown.slice(0, -1);
    expect(read.join("\n").length).toBeLessThanOrEqual(maxChars);
    lines.push(...read);
    if (next === undefined) return lines;
    from = Number(next);
  }
}

describe("the text of a large result", () => {
  it("is read completely, in parts that fit, whatever its characters and the limit are", () => {
    const anyLine = fc
      .string({ unit: "binary", maxLength: 60 })
      .map((line) => line.replaceAll(/[\r\n[]/g, ""));
    fc.assert(
      fc.property(
        fc.array(anyLine, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 2, max: 80 }),
        (lines, limit) => {
          const read = readAll(new ResultText([lines.join("\n")], limit), limit);
          expect(read.join("")).toBe(lines.join(""));
          for (const line of read) expect(line).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
        },
      ),
    );
  });

  it("has a preview that fits, for any limit", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 3_000 }), fc.integer({ min: 1, max: 500 }), (text, limit) => {
        const preview = new ResultText([text], 1_000).preview(limit);
        expect(preview.length).toBeLessThanOrEqual(limit + "\n[…]\n".length + 1);
      }),
    );
  });

  it("is split after a separator, and its lines are those of all texts", () => {
    const text = new ResultText(["a".repeat(15), "one,two,three,four", "x\r\ny"], 10);
    expect(readAll(text, 10)).toEqual(["aaaaaaaaaa", "aaaaa", "one,two,", "three,four", "x", "y"]);
  });

  it("is searched until the caller cancels", async () => {
    const text = new ResultText(["a".repeat(900).concat("\n").repeat(5_000)], 1_000);
    const cancellation = new CancelScope();
    const searching = text.search("b", {}, cancellation);
    cancellation.cancel(new Error("stop"));
    await expect(searching).rejects.toThrow("stop");
  });

  it("has JSON that is read by own keys only", () => {
    const text = new ResultText(["not JSON", '{"a":{"b":[1,null]},"é\'":2}'], 100);
    expect(text.readPath("$")).toBe('{"a":{"b":[1,null]},"é\'":2}');
    expect(text.readPath("$.a.b[1]")).toBe("null");
    expect(text.readPath('$["é\'"]')).toBe("2");
    expect(text.readPath("a.b[*]")).toBe("[2 of 2 values]\n1\nnull");
    expect(() => text.readPath("$.constructor")).toThrow("$ is an object with the keys a, é'");
    expect(() => text.readPath("$.a.b[*].c")).toThrow("there is nothing at this path");
  });
});
