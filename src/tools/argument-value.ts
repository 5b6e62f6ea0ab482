import type { ArgumentProperty, TextToken } from "../config/argument-property.js";
import type { JsonObject } from "../json/json.js";
import { type JsonPath, parseJsonPath } from "../json/json-path.js";
import { valueAt } from "../json/edit-at-path.js";

/** Gives the value of an argument for an agent's input; `undefined` when there is none. */
export type ArgumentSource = (agentInput: JsonObject) => unknown;

/** Where a property that stands for itself takes its value from; `undefined` for a path that cannot be read. */
export function toSource(
  property: Exclude<ArgumentProperty, { variant: "arrayBuilder" }>,
): ArgumentSource | undefined {
  switch (property.variant) {
    case "static":
      return () => property.value;
    case "argument": {
      const path = parseJsonPath(property.argumentPath);
      return path === undefined ? undefined : (input) => valueAt(input, path);
    }
    case "textBuilder": {
      const parts = property.tokens.map(toPart);
      return (input) => parts.map((part) => part(input)).join("");
    }
  }
}

/** The value when it does not depend on the agent's input. */
export function fixedValueOf(property: ArgumentProperty): unknown {
  if (property.variant === "static") return property.value;
  if (property.variant !== "textBuilder") return undefined;
  const isFixed = property.tokens.every(({ type }) => type !== "variable");
  return isFixed ? property.tokens.map(({ rawString }) => rawString).join("") : undefined;
}

/** Expressions are not computed, here or on the platform that they come from: they are texts. */
function toPart({ type, rawString }: TextToken): (input: JsonObject) => string {
  if (type !== "variable") return () => rawString;
  const places = placesOf(rawString.trim());
  return (input) => {
    const values = places.map((path) => valueAt(input, path));
    return toText(values.find((value) => value !== undefined));
  };
}

/** `input` is the whole input, `input.user.name` and `user.name` are the same place in it. */
function placesOf(variable: string): JsonPath[] {
  const withoutPrefix = variable.replace(/^input(?:\.|(?=\[)|$)/i, "");
  if (withoutPrefix === "") return [[]];
  return [...new Set([withoutPrefix, variable])].map((text) => parseJsonPath(text) ?? text.split("."));
}

/** Texts as they are, other things as JSON, nothing as nothing. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // Cyclic, or nested beyond what a stack can hold.
    return "";
  }
}
