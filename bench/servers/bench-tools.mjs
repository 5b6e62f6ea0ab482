const GROUPS = ["buyer", "seller", "parcel", "payment", "route", "insurance", "customs", "notice"];
const KINDS = [
  ["name", { type: "string", minLength: 1, maxLength: 80 }],
  ["count", { type: "integer", minimum: 0 }],
  ["tags", { type: "array", items: { type: "string" }, maxItems: 8 }],
  ["mode", { enum: ["plain", "fast", "careful"] }],
  ["place", { type: "object", properties: { city: { type: "string" } }, required: ["city"] }],
];

/** Eight groups of five properties: 40 properties on three levels. */
const NESTED_SCHEMA = {
  type: "object",
  properties: Object.fromEntries(GROUPS.map((group) => [group, createGroupSchema()])),
  required: GROUPS,
};

export const NESTED_ARGS = Object.fromEntries(
  GROUPS.map((group) => [
    group,
    { name: group, count: 3, tags: ["a", "b"], mode: "fast", place: { city: "Oslo" } },
  ]),
);

const ECHO_SCHEMA = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const LARGE_TEXT = "One line of a long report, with a number: 1234567.\n".repeat(20_560);

/** Creates the three tools that are called, and filler tools up to `toolCount`. */
export function createBenchTools(toolCount) {
  const tools = [
    { name: "echo", description: "Returns its input.", inputSchema: ECHO_SCHEMA },
    { name: "large", description: "Returns 1 MB of text.", inputSchema: { type: "object", properties: {} } },
    { name: "nested", description: "Accepts a large order.", inputSchema: NESTED_SCHEMA },
  ];
  for (let n = tools.length; n < toolCount; n += 1) tools.push(createFillerTool(n));
  return tools;
}

/** The result text of a tool. */
export function callBenchTool(tool, args) {
  if (tool === "large") return LARGE_TEXT;
  return tool === "nested" ? String(args.buyer.name) : String(args.text);
}

function createGroupSchema() {
  const properties = Object.fromEntries(KINDS);
  return { type: "object", properties, required: ["name", "count"], additionalProperties: false };
}

/** No two schemas are equal, so caching a schema gains nothing. */
function createFillerTool(n) {
  const properties = {
    [`key_${n}`]: { type: "string", description: `The key of record ${n}.` },
    limit: { type: "integer", minimum: 1, maximum: 10 + n },
    filter: {
      type: "object",
      properties: { since: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
    },
  };
  return {
    name: `tool_${n}`,
    description: `Finds record ${n}.`,
    inputSchema: { type: "object", properties, required: [`key_${n}`] },
  };
}
