import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/index.js";
import { times } from "../../fixtures/clients.js";
import { startToolset } from "../../fixtures/toolsets.js";

/** Random enough that every prefix leads to another state of an automaton. */
const TEXT = times(50_000, (index) =>
  Math.abs(Math.imul(index + 1, 2_654_435_761) >> 13) % 2 === 0 ? "a" : "b",
).join("");

const $defs = Object.fromEntries([
  ...times(40, (index): [string, unknown] => {
    const next = { $ref: `#/properties/value/$defs/d${index + 1}` };
    return [`d${index}`, { anyOf: [next, next] }];
  }),
  ["d40", { type: "number" }],
]);

/** Schemas with a value for which the process would not respond for seconds to years. */
const ATTACKS: [
  string,
  { readonly schema: JsonObject; readonly value: unknown; readonly isChecked: boolean },
][] = [
  ["pattern", { schema: { pattern: "^a*a*a*a*a*a*b$" }, value: "a".repeat(50_000), isChecked: true }],
  ["states of a pattern", { schema: { pattern: "[ab]*a[ab]{900}c" }, value: TEXT, isChecked: false }],
  [
    "uniqueItems",
    {
      schema: { uniqueItems: true },
      value: [...times(30_000, (id) => ({ id })), { id: 29_999 }],
      isChecked: true,
    },
  ],
  [
    "anyOf",
    {
      schema: { items: { anyOf: times(4_900, (index) => ({ const: index })) } },
      value: times(5_000, () => 4_899),
      isChecked: false,
    },
  ],
  [
    "$anchor",
    {
      schema: {
        items: { allOf: times(3_000, (index) => ({ $ref: `#a${index}` })) },
        $defs: Object.fromEntries(times(3_000, (index) => [`a${index}`, { $anchor: `a${index}` }])),
      },
      value: times(500, () => 1),
      isChecked: false,
    },
  ],
  ["$ref", { schema: { $defs, $ref: "#/properties/value/$defs/d0" }, value: "x", isChecked: false }],
];

describe.each(ATTACKS)(
  "a schema of a server cannot block the process with %s",
  (_, { schema, value, isChecked }) => {
    const toObject = (property: JsonObject) => ({ type: "object", properties: { value: property } });

    it("in a default of the arguments: the call is refused", async () => {
      await using fixture = await startToolset({
        tools: [{ name: "t", inputSchema: toObject({ ...schema, default: value }), run: () => "ran" }],
      });
      expect(fixture.tool.schema).toMatchObject({ type: "object" });
      const message = await fixture.call({});
      expect(message).toMatchObject({ status: "error" });
      const reason = isChecked ? "value: " : "takes more than 300000 steps. Try shorter or fewer values.";
      expect(message.content).toContain('The arguments of tool "t" are invalid; the tool was not called:');
      expect(message.content).toContain(reason);
      expect(fixture.server.executions).toEqual([]);
    });

    it("in a result: it is passed on", async () => {
      await using fixture = await startToolset({
        tools: [
          {
            name: "t",
            outputSchema: toObject(schema),
            run: () => ({ content: [{ type: "text", text: "ran" }], structuredContent: { value } }),
          },
        ],
      });
      expect(await fixture.call({})).toMatchObject({
        content: "ran",
        artifact: { structuredContent: { value } },
      });
      const warning = isChecked
        ? "The result does not match the output schema"
        : "The result is not validated";
      expect(fixture.logger.warnings).toEqual([expect.stringContaining(warning)]);
    });
  },
);

it("a tool with 130,000 parameters is listed, 2026-07-28", async () => {
  const properties = Object.fromEntries(times(130_000, (index) => [`p${index}`, {}]));
  const wide = { name: "wide", inputSchema: { type: "object", properties }, run: () => "ran" };
  await using fixture = await startToolset({ tools: [wide], era: "modern" });
  expect(fixture.mcp.tools.map(({ name }) => name)).toEqual(["srv__wide"]);
});
