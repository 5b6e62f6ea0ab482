import type { ToolSnapshot } from "./agent-definition.js";
import { readArgumentProperty, type ArgumentProperty } from "./argument-property.js";
import { describeValue, formatPath } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";
import { parseJsonPath, READABLE_PATHS } from "../json/json-path.js";
import {
  complain,
  field,
  fields,
  isAbsent,
  isObject,
  items,
  jsonObject,
  optionalText,
  text,
  type Written,
} from "./parse-cursor.js";

/** Deeper than any schema that was written by hand, and within what the rooms above can walk. */
const SCHEMA = { foreign: "refuse", maxDepth: 20_000 } as const;

/** The tools that an agent resource carries. Problems go to the findings of `list`. */
export function readToolSnapshots(list: Written, resourceName: string): ToolSnapshot[] {
  const named = new Map<string, Written>();
  return items(list).flatMap((at) => {
    if (!isObject(at)) return [];
    const nameAt = field(at, "name");
    const name = text(nameAt);
    const first = named.get(name);
    if (first === undefined) named.set(name, at);
    else if (nameAt.value === name)
      complain(nameAt, `is also the name of ${formatPath(first.path)}; every tool needs one of its own`);
    return [readToolSnapshot(at, name, resourceName)];
  });
}

function readToolSnapshot(at: Written, name: string, resourceName: string): ToolSnapshot {
  const outputAt = field(at, "outputSchema");
  return {
    name,
    description: optionalText(field(at, "description")),
    inputSchema: readInputSchema(field(at, "inputSchema")),
    outputSchema: isAbsent(outputAt) ? undefined : jsonObject(outputAt, SCHEMA),
    argumentProperties: readArgumentProperties(
      field(at, "argumentProperties"),
      `Agent resource ${JSON.stringify(resourceName)}, tool ${JSON.stringify(name)}`,
    ),
  };
}

function readInputSchema(at: Written): JsonObject {
  const schema = jsonObject(at, SCHEMA);
  const { type = "object" } = schema;
  if (type !== "object")
    complain({ ...at, path: [...at.path, "type"] }, `expected "object", found ${describeValue(type)}`);
  return schema;
}

function readArgumentProperties(at: Written, place: string): Record<string, ArgumentProperty> {
  const properties = fields(at).flatMap(([path, written]) => {
    if (!isArgumentPath(path)) {
      return (complain(written, `is no path to an argument; allowed are ${READABLE_PATHS}`), []);
    }
    const property = readArgumentProperty(written, `${place}, ${formatPath(written.path)}`);
    return property === undefined ? [] : [[path, property] as const];
  });
  return Object.fromEntries(properties);
}

/** Arguments are an object, so the first step is a name. */
function isArgumentPath(path: string): boolean {
  return typeof parseJsonPath(path)?.[0] === "string";
}
