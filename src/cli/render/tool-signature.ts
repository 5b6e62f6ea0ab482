import { isPlainObject } from "../../json/json.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { quoteServer, toReadable } from "../../errors/sanitize-text.js";

/** `forecast(city, days?)`: how a tool is called. */
export function signatureOf({ name, inputSchema }: McpToolInfo): string {
  const { properties, required } = inputSchema;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const names = Object.keys(isPlainObject(properties) ? properties : {});
  const parameters = names
    .toSorted((a, b) => Number(needed.includes(b)) - Number(needed.includes(a)))
    .map((parameter) => `${toReadable(parameter)}${needed.includes(parameter) ? "" : "?"}`);
  return `${quoteServer(name)}(${parameters.join(", ")})`;
}

/** What a tool says of itself, in one line. */
export function summaryOf({ description, title }: McpToolInfo): string {
  const [first = ""] = (description ?? title ?? "").trim().split("\n");
  return quoteServer(first);
}
