import { isPlainObject, type JsonObject } from "../json/json.js";
import { toHeaderText } from "../transports/http/modern-era.js";

/** A parameter of a tool that its server wants to see in a header as well. */
interface ParameterHeader {
  readonly path: readonly string[];
  readonly header: string;
}

type Found = { readonly headers: readonly ParameterHeader[] } | { readonly problem: string };

const ANNOTATION = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/** Keywords that hold a schema or a list of schemas which need not be those of one parameter. */
const BRANCHES = [
  "items",
  "prefixItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "oneOf",
  "anyOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
];
/** The same, by name. */
const NAMED_BRANCHES = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

interface Place {
  readonly schema: JsonObject;
  /** `undefined` where no single parameter is meant. */
  readonly path: readonly string[] | undefined;
}

/** Which headers a tool's schema asks for. Without recursion: a schema may be nested deeper than the stack. */
export function findParameterHeaders(inputSchema: unknown): Found {
  const headers = new Map<string, ParameterHeader>();
  const left: Place[] = toPlaces([inputSchema], []);
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    const { schema, path } = place;
    if (ANNOTATION in schema) {
      const problem = problemOf(schema, path);
      const header = String(schema[ANNOTATION]);
      if (problem !== undefined) return { problem };
      if (headers.has(header.toLowerCase())) return { problem: `has two parameters for header "${header}"` };
      headers.set(header.toLowerCase(), { path: path ?? [], header });
    }
    left.push(...placesWithin(place));
  }
  return { headers: [...headers.values()] };
}

function problemOf(schema: JsonObject, path: Place["path"]): string | undefined {
  const name = schema[ANNOTATION];
  if (path === undefined || path.length === 0) return "asks for a header where no single parameter is meant";
  if (typeof name !== "string" || !TOKEN.test(name)) return "asks for a header whose name is none";
  return TYPES.has(schema["type"]) ? undefined : `asks for a header of a value that no header can hold`;
}

function placesWithin({ schema, path }: Place): Place[] {
  const properties = isPlainObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const parameters = properties.flatMap(([name, value]) =>
    toPlaces([value], path === undefined ? undefined : [...path, name]),
  );
  const branches = BRANCHES.flatMap((keyword) => schema[keyword]);
  const named = NAMED_BRANCHES.flatMap((keyword) => Object.values(schema[keyword] ?? {}));
  return [...parameters, ...toPlaces([...branches, ...named], undefined)];
}

function toPlaces(values: readonly unknown[], path: Place["path"]): Place[] {
  return values.filter(isPlainObject).map((schema) => ({ schema, path }));
}

/** The headers of one call. What was left out of the arguments is left out here, too. */
export function toParameterHeaders(
  headers: readonly ParameterHeader[],
  args: unknown,
): Record<string, string> {
  const entries = headers.flatMap(({ path, header }): [string, string][] => {
    const value = path.reduce((within, key) => (isPlainObject(within) ? within[key] : undefined), args);
    const isSimple = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
    return isSimple ? [[`mcp-param-${header.toLowerCase()}`, toHeaderText(String(value))]] : [];
  });
  return Object.fromEntries(entries);
}
