/** The tools that all servers of the bench offer, and what they answer. */

const GROUPS = ["buyer", "seller", "parcel", "payment", "route", "insurance", "customs", "notice"];
const KINDS = [
  ["name", { type: "string", minLength: 1, maxLength: 80 }],
  ["count", { type: "integer", minimum: 0 }],
  ["tags", { type: "array", items: { type: "string" }, maxItems: 8 }],
  ["mode", { enum: ["plain", "fast", "careful"] }],
  ["place", { type: "object", properties: { city: { type: "string" } }, required: ["city"] }],
];

/** Eight groups of five: 40 properties, three levels deep. */
const NESTED_SCHEMA = {
  type: "object",
  properties: Object.fromEntries(GROUPS.map((group) => [group, groupSchema()])),
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

/** The three that are called, and as many more as wished. */
export function benchTools(toolCount) {
  const tools = [
    { name: "echo", description: "Says what it is told.", inputSchema: ECHO_SCHEMA },
    { name: "large", description: "Gives a megabyte.", inputSchema: { type: "object", properties: {} } },
    { name: "nested", description: "Takes a large order.", inputSchema: NESTED_SCHEMA },
  ];
  for (let n = tools.length; n < toolCount; n += 1) tools.push(fillerTool(n));
  return tools;
}

export function answerOf(tool, args) {
  if (tool === "large") return LARGE_TEXT;
  return tool === "nested" ? String(args.buyer.name) : String(args.text);
}

function groupSchema() {
  const properties = Object.fromEntries(KINDS);
  return { type: "object", properties, required: ["name", "count"], additionalProperties: false };
}

/** No two schemas are equal: nothing can be gained by remembering one. */
function fillerTool(n) {
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
