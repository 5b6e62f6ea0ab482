import { describe, expect, it } from "vitest";
import { createPage, writeLines, writeVerbatim } from "../../../src/cli/terminal.js";

function createStream() {
  const stream = { written: "", write: (text: string) => (stream.written += text) };
  return { stream, page: createPage(stream, { FORCE_COLOR: "1" }) };
}

describe("a line with styles", () => {
  it("has only those of the page, also if the rest of it was not escaped", () => {
    const { stream, page } = createStream();
    const text = "\u001b[31mred\u001b[39m\n\u009b31m";
    writeLines(stream, [`${page.colors.success("✓")} ${text} ${page.colors.dim(text)}`, text]);
    const escaped = String.raw`\u001b[31mred\u001b[39m\n\u009b31m`;
    expect(stream.written).toBe(
      `\u001b[32m✓\u001b[39m ${escaped} \u001b[2m${escaped}\u001b[22m\n${escaped}\n`,
    );
  });

  it("for another program is unchanged but for them", () => {
    const { stream, page } = createStream();
    writeVerbatim(stream, [page.colors.error("✗"), "\u001b[31mred\r"]);
    expect(stream.written).toBe("\u001b[31m✗\u001b[39m\n\u001b[31mred\r\n");
  });
});
