import { describe, expect, it } from "vitest";
import { dereference, resolveRef } from "../../../src/json-schema/resolve-ref.js";

const text = { type: "string" };
const root = {
  $id: "https://example.com/tool.json#",
  $defs: { Text: text, "a/b~c d": text, anchored: { $anchor: "here", type: "number" } },
};

describe("resolveRef", () => {
  it.each([
    ["the document", "#", root],
    ["a definition", "#/$defs/Text", text],
    ["an escaped name", "#/$defs/a~1b~0c%20d", text],
    ["a name in percent encoding", "#/%24defs/Text", text],
    ["an anchor", "#here", root.$defs.anchored],
    ["the document by its $id", "https://example.com/tool.json", root],
    ["a definition by the $id of the document", "https://example.com/tool.json#/$defs/Text", text],
    ["a missing definition", "#/$defs/Missing", undefined],
    ["a missing anchor", "#missing", undefined],
    ["an inherited property", "#/$defs/constructor", undefined],
    ["another document", "https://example.com/other.json", undefined],
  ])("returns the target of a reference: %s", (_, reference, target) => {
    expect(resolveRef(reference, root)).toBe(target);
  });
});

describe("dereference", () => {
  const chain = {
    $defs: {
      first: { $ref: "#/$defs/second" },
      second: { $ref: "#/$defs/third" },
      third: text,
      circular: { $ref: "#/$defs/circular" },
      dangling: { $ref: "#/$defs/missing" },
      nothing: false,
    },
  };

  it.each([
    ["follows a chain of references", { $ref: "#/$defs/first" }, text],
    ["ignores the siblings of a reference", { $ref: "#/$defs/third", type: "number" }, text],
    ["returns a boolean schema", { $ref: "#/$defs/nothing" }, false],
    ["returns undefined for a reference to itself", { $ref: "#/$defs/circular" }, undefined],
    ["returns undefined at the end of a chain that is not complete", { $ref: "#/$defs/dangling" }, undefined],
  ])("%s", (_, schema, target) => {
    expect(dereference(schema, chain)).toBe(target);
  });

  it("returns a schema without a reference itself", () => {
    expect(dereference(text, chain)).toBe(text);
    expect(dereference(true, chain)).toBe(true);
  });
});
