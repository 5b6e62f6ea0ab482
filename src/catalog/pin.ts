import type { McpToolInfo } from "../config/tool-info.js";
import { schemaHash } from "../json-schema/schema-hash.js";

/** What was approved of one tool. */
export interface Pin {
  readonly description: string;
  readonly schema: string;
  /** With the title. Unknown for a tool that was saved with an agent. */
  readonly annotations: string | undefined;
}

export function pinOf({ name, title, description = "", inputSchema, annotations = {} }: McpToolInfo): Pin {
  return {
    description: schemaHash({ name, description }),
    schema: schemaHash(inputSchema),
    annotations: schemaHash({ title, annotations }),
  };
}

/** What is not as it was approved, in words; nothing when all is. */
export function differenceOf(pin: Pin, tool: McpToolInfo): string | undefined {
  const now = pinOf(tool);
  const what = [
    ...(pin.description === now.description ? [] : ["description"]),
    ...(pin.schema === now.schema ? [] : ["schema"]),
    ...(pin.annotations === undefined || pin.annotations === now.annotations ? [] : ["title or annotations"]),
  ];
  return what.length === 0 ? undefined : `its ${what.join(" and ")} changed`;
}

/** As a list: a tool may have a name that is no key for a store. */
export function toStoredPins(pins: ReadonlyMap<string, Pin>): unknown {
  return [...pins].map(([name, { description, schema, annotations = null }]) => [
    name,
    description,
    schema,
    annotations,
  ]);
}

/** What a store gave; what is no pin is left out. */
export function parsePins(stored: unknown): Map<string, Pin> {
  const items: readonly unknown[] = Array.isArray(stored) ? stored : [];
  return new Map(items.flatMap(parsePin));
}

function parsePin(item: unknown): [string, Pin][] {
  if (!Array.isArray(item)) return [];
  const [name, description, schema, annotations] = item as unknown[];
  if (![name, description, schema].every((part) => typeof part === "string")) return [];
  if (annotations !== null && typeof annotations !== "string") return [];
  const pin = { description, schema, annotations: annotations ?? undefined } as Pin;
  return [[name as string, pin]];
}
