import { isPlainObject, type JsonObject } from "../../json/json.js";

const UNIONS = ["anyOf", "oneOf", "allOf", "not", "if", "enum", "const"] as const;
const SPEAKABLE = /^[a-zA-Z0-9_.-]{1,64}$/;
const MOST_SCHEMAS = 20_000;

/** Why providers refuse a schema as it is, in words. What models are shown instead has none of it. */
export function objectionsTo(schema: JsonObject): string[] {
  const unions = UNIONS.filter((keyword) => keyword in schema);
  const names = Object.keys(isPlainObject(schema["properties"]) ? schema["properties"] : {});
  const badNames = names.filter((name) => !SPEAKABLE.test(name));
  return [
    ...(schema["type"] === "object" ? [] : ["its top is not of type object"]),
    ...unions.map((keyword) => `it has ${keyword} at its top`),
    ...(badNames.length === 0 ? [] : [`it has argument names that are not plain (${badNames.length})`]),
    ...(hasReference(schema) ? ["it has references ($ref)"] : []),
  ];
}

function hasReference(schema: JsonObject): boolean {
  const left: unknown[] = [schema];
  for (let seen = 0; left.length > 0 && seen < MOST_SCHEMAS; seen += 1) {
    const value = left.pop();
    if (Array.isArray(value)) left.push(...(value as unknown[]));
    if (!isPlainObject(value)) continue;
    if (typeof value["$ref"] === "string") return true;
    left.push(...Object.values(value));
  }
  return false;
}
