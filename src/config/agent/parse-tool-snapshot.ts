import type { ToolSnapshot } from "./agent-definition.js";
import { parseArgumentProperty, type ArgumentProperty } from "./argument-property.js";
import { describeValue, formatPath } from "../../json/describe-value.js";
import type { JsonObject } from "../../json/json.js";
import { parseJsonPath, SUPPORTED_PATHS } from "../../json/json-path.js";
import {
  addIssue,
  readField,
  readEntries,
  isMissing,
  isObject,
  readItems,
  readJsonObject,
  readOptionalString,
  readString,
  type Cursor,
} from "./parse-cursor.js";

/** Deeper than any schema written by hand, and within what the schema modules can traverse. */
const SCHEMA_CLONE_OPTIONS = { nonJson: "reject", maxDepth: 20_000 } as const;

/** Parses the tool snapshots of an agent resource. Problems are added to the report of the cursor. */
export function parseToolSnapshots(list: Cursor, resourceName: string): ToolSnapshot[] {
  const cursorsByName = new Map<string, Cursor>();
  return readItems(list).flatMap((cursor) => {
    if (!isObject(cursor)) return [];
    const nameCursor = readField(cursor, "name");
    const name = readString(nameCursor);
    const first = cursorsByName.get(name);
    if (first === undefined) cursorsByName.set(name, cursor);
    else if (nameCursor.value === name)
      addIssue(
        nameCursor,
        `duplicate name, also used by ${formatPath(first.path)}; each tool needs a unique name`,
      );
    return [parseToolSnapshot(cursor, name, resourceName)];
  });
}

function parseToolSnapshot(cursor: Cursor, name: string, resourceName: string): ToolSnapshot {
  const outputSchema = readField(cursor, "outputSchema");
  return {
    name,
    description: readOptionalString(readField(cursor, "description")),
    inputSchema: parseInputSchema(readField(cursor, "inputSchema")),
    outputSchema: isMissing(outputSchema) ? undefined : readJsonObject(outputSchema, SCHEMA_CLONE_OPTIONS),
    argumentProperties: parseArgumentProperties(
      readField(cursor, "argumentProperties"),
      `Agent resource ${JSON.stringify(resourceName)}, tool ${JSON.stringify(name)}`,
    ),
  };
}

function parseInputSchema(cursor: Cursor): JsonObject {
  const schema = readJsonObject(cursor, SCHEMA_CLONE_OPTIONS);
  const { type = "object" } = schema;
  if (type !== "object")
    addIssue({ ...cursor, path: [...cursor.path, "type"] }, `expected "object", got ${describeValue(type)}`);
  return schema;
}

function parseArgumentProperties(cursor: Cursor, location: string): Record<string, ArgumentProperty> {
  const properties = readEntries(cursor).flatMap(([path, property]) => {
    if (!isArgumentPath(path)) {
      return (addIssue(property, `is not a supported argument path; supported: ${SUPPORTED_PATHS}`), []);
    }
    const argumentProperty = parseArgumentProperty(property, `${location}, ${formatPath(property.path)}`);
    return argumentProperty === undefined ? [] : [[path, argumentProperty] as const];
  });
  return Object.fromEntries(properties);
}

/** Arguments are an object, so the first segment is a name. */
function isArgumentPath(path: string): boolean {
  return typeof parseJsonPath(path)?.[0] === "string";
}
