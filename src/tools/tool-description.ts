import type { McpToolInfo } from "../config/server-features.js";
import type { DescriptionOptions } from "../config/tool-rules.js";
import { sanitizeText, truncateAtSentence } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject, omitUndefined, toArray, toObject } from "../json/json.js";

export type DescriptionLimits = Required<DescriptionOptions>;

/** Several models of OpenAI and Azure reject a tool whose description has more than 1,024 characters. */
export const DESCRIPTION_DEFAULTS = { maxChars: 1_024, overflow: "keep" } as const;

/** The longest description that is kept with "keep": a server could otherwise fill the context of a model. */
const MAX_KEPT_CHARS = 16_384;
/** How much of a description is read, whatever the limits are. */
const MAX_READ_CHARS = 131_072;

/** Fills in the defaults. A later level takes precedence. */
export function resolveDescriptions(...levels: (DescriptionOptions | undefined)[]): DescriptionLimits {
  return Object.assign({ ...DESCRIPTION_DEFAULTS }, ...levels.map(omitUndefined)) as DescriptionLimits;
}

/** A description, divided at the limit. */
export interface ToolDescription {
  /** The whole text. */
  readonly text: string;
  /** The description of the tool that models see. */
  readonly shown: string;
  /** What does not fit, for the description of the first parameter; empty if everything is shown or truncated. */
  readonly rest: string;
  readonly limits: DescriptionLimits;
}

/** Divides the description of a tool; `override` takes precedence over the one of the server. */
export function toToolDescription(
  { name, title, description }: Pick<McpToolInfo, "name" | "title" | "description">,
  { server, override, limits }: { server: string; override?: string | undefined; limits: DescriptionLimits },
): ToolDescription {
  const own = sanitizeText(override ?? description ?? title ?? "", MAX_READ_CHARS);
  const text = own === "" ? `Tool "${sanitizeText(name)}" of server "${server}".` : own;
  if (text.length <= limits.maxChars) return { text, shown: text, rest: "", limits };
  const shown = truncateAtSentence(text, limits.maxChars);
  const rest = limits.overflow === "keep" ? text.slice(shown.replace(/…$/, "").length).trim() : "";
  return { text, shown, rest, limits };
}

const CONTINUED = "The description of the tool continues:";

/**
 * Adds what does not fit into the description of the tool to the description of its first parameter. Returns a
 * warning if a part of it is lost.
 */
export function addDescriptionRest(
  schema: JsonObject,
  { text, shown, rest, limits }: ToolDescription,
): { readonly schema: JsonObject; readonly warnings: readonly string[] } {
  if (rest === "") return { schema, warnings: [] };
  const properties = toObject(schema["properties"]);
  const [first] = Object.entries(properties);
  const loss = (chars: number, reason: string) =>
    `The description has ${text.length} characters, of which models see the first ${chars}: ${reason}. Shorten it on the server, or set a description in the rule of the tool.`;
  if (first === undefined || !isPlainObject(first[1])) {
    const reason = `descriptions.maxChars is ${limits.maxChars}, and there is no parameter of a portable schema to whose description the rest could be added`;
    return { schema, warnings: [loss(shown.length, reason)] };
  }
  const kept = truncateRest(rest, limits);
  const extended = { ...properties, [first[0]]: appendDescription(first[1], `${CONTINUED} ${kept}`) };
  const result = { ...schema, properties: extended };
  const warnings = kept === rest ? [] : [loss(shown.length + kept.length, "the rest is too long")];
  return { schema: result, warnings };
}

/** Returns what `addDescriptionRest` adds for this input schema of a server, for estimates of tokens. */
export function getKeptRest({ rest, limits }: ToolDescription, inputSchema: JsonObject): string {
  const [first] = Object.values(toObject(inputSchema["properties"]));
  return rest === "" || !isPlainObject(first) ? "" : `${CONTINUED} ${truncateRest(rest, limits)}`;
}

function truncateRest(rest: string, { maxChars }: DescriptionLimits): string {
  return truncateAtSentence(rest, Math.max(maxChars, MAX_KEPT_CHARS));
}

/** Appends a text to the description of a portable schema; a union has none of its own. */
function appendDescription(schema: JsonObject, text: string): JsonObject {
  const [branch, ...others] = toArray(schema["anyOf"]);
  if (isPlainObject(branch)) return { ...schema, anyOf: [appendDescription(branch, text), ...others] };
  const { description } = schema;
  return { ...schema, description: typeof description === "string" ? `${description}\n\n${text}` : text };
}
