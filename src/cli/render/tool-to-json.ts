import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import type { Redactor } from "../../errors/redaction.js";

/** A tool as programs read of it: as its server describes it, without what the server was told in confidence. */
export function toolDocument(tool: McpToolInfo, redactor: Redactor): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const document = { name, title, description, inputSchema, outputSchema, annotations };
  return withoutSecrets(document, redactor) as JsonObject;
}

/** Only texts that hold a secret are touched: the rest is compared with the server later. */
function withoutSecrets(value: unknown, redactor: Redactor): unknown {
  if (typeof value === "string") return redactor.knows(value) ? redactor.text(value) : value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, redactor));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutSecrets(item, redactor)]),
  );
}
