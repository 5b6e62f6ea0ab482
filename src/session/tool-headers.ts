import { excerpt, printValue } from "../errors/sanitize-text.js";
import { formOf } from "../json-schema/keywords.js";
import { isPlainObject, type JsonObject, toArray, toObject } from "../json/json.js";
import { encodeHeaderValue } from "../transports/http/modern-era.js";

/**
 * The tool arguments that a server requires as HTTP headers (`x-mcp-header`), collected from its tool
 * lists. The protocol requires clients to skip a tool with an invalid annotation.
 */
export class ToolHeaders {
  readonly #server: string;
  readonly #onWarning: (message: string) => void;
  #byTool = new Map<string, readonly ParameterHeader[]>();
  /** Those of the previous list that was read to its end: reading the current one may fail. Older ones are dropped. */
  #previousByTool: ReadonlyMap<string, readonly ParameterHeader[]> = new Map();

  #isComplete = true;

  constructor(server: string, onWarning: (message: string) => void) {
    this.#server = server;
    this.#onWarning = onWarning;
  }

  /** Reads one page of a tool list and returns it without the tools whose annotation is invalid. */
  update(page: JsonObject, { isFirst }: { readonly isFirst: boolean }): JsonObject {
    const { tools, nextCursor } = page;
    if (!Array.isArray(tools)) return page;
    if (isFirst) {
      if (this.#isComplete || this.#previousByTool.size === 0) this.#previousByTool = this.#byTool;
      this.#byTool = new Map();
      this.#isComplete = false;
    }
    this.#isComplete ||= typeof nextCursor !== "string";
    return { ...page, tools: tools.filter((tool) => this.#register(tool)) };
  }

  /** Returns the headers for the params of a `tools/call`; `undefined` for a tool without annotations. */
  headersFor({ name, arguments: args }: JsonObject): Record<string, string> | undefined {
    const headers = this.#byTool.get(name as string) ?? this.#previousByTool.get(name as string);
    return headers === undefined || headers.length === 0 ? undefined : toParameterHeaders(headers, args);
  }

  #register(tool: unknown): boolean {
    if (!isPlainObject(tool) || typeof tool["name"] !== "string") return true;
    const { name, inputSchema } = tool;
    const result = findParameterHeaders(inputSchema);
    if ("problem" in result) {
      this.#onWarning(
        `Server "${this.#server}": tool "${excerpt(name)}" was skipped: it ${result.problem} (x-mcp-header).`,
      );
      return false;
    }
    if (result.headers.length > 0 || this.#previousByTool.has(name)) this.#byTool.set(name, result.headers);
    else this.#byTool.delete(name);
    return true;
  }
}

/** A tool parameter that is also sent as a header. */
interface ParameterHeader {
  readonly path: readonly string[];
  readonly header: string;
}

type ParameterHeaders = { readonly headers: readonly ParameterHeader[] } | { readonly problem: string };

const ANNOTATION = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/** A schema in the schema of a tool. Linked, because each of 100,000 parameters may be nested hundreds of levels deep. */
interface SchemaNode {
  readonly schema: JsonObject;
  /** The schema that has this one as a property, and its name. */
  readonly parent: SchemaNode | undefined;
  readonly name: string;
  /** Whether it describes the arguments or exactly one parameter. */
  readonly isParameter: boolean;
}

/** Returns the headers that a tool's schema requires. Iterative, since schemas may be nested very deeply. */
export function findParameterHeaders(inputSchema: unknown): ParameterHeaders {
  const headers = new Map<string, ParameterHeader>();
  const queue: SchemaNode[] = [];
  if (isPlainObject(inputSchema))
    queue.push({ schema: inputSchema, parent: undefined, name: "", isParameter: true });
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    const { schema } = node;
    if (ANNOTATION in schema) {
      const problem = validateAnnotation(node);
      if (problem !== undefined) return { problem };
      const header = schema[ANNOTATION] as string;
      if (headers.has(header.toLowerCase())) return { problem: `maps two parameters to header "${header}"` };
      headers.set(header.toLowerCase(), { path: getPath(node), header });
    }
    addChildNodes(node, queue);
  }
  return { headers: [...headers.values()] };
}

function getPath(node: SchemaNode): string[] {
  const path: string[] = [];
  for (let { parent, name } = node; parent !== undefined; { parent, name } = parent) path.push(name);
  return path.toReversed();
}

function validateAnnotation({ schema, parent, isParameter }: SchemaNode): string | undefined {
  const name = schema[ANNOTATION];
  if (!isParameter || parent === undefined)
    return "requires a header for a schema that is not a single parameter";
  if (typeof name !== "string" || !TOKEN.test(name)) return "requires a header with an invalid name";
  return TYPES.has(schema["type"]) ? undefined : "requires a header for a type that headers cannot represent";
}

/** Only `properties` describe one parameter each; every other subschema may describe none or several. */
function addChildNodes(node: SchemaNode, queue: SchemaNode[]): void {
  const { schema } = node;
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword];
    const form = keyword === "properties" ? "map" : formOf(keyword, value, "2020-12");
    if (form === "map") addProperties(toObject(value), node, keyword === "properties", queue);
    else if (form === "schema") addNode(value, queue);
    else if (form === "schemas") for (const child of toArray(value)) addNode(child, queue);
  }
}

function addProperties(
  schemas: JsonObject,
  parent: SchemaNode,
  areProperties: boolean,
  queue: SchemaNode[],
): void {
  const isParameter = areProperties && parent.isParameter;
  for (const name of Object.keys(schemas)) {
    const schema = schemas[name];
    if (isAnnotated(schema)) queue.push({ schema, parent, name, isParameter });
  }
}

function addNode(schema: unknown, queue: SchemaNode[]): void {
  if (isAnnotated(schema)) queue.push({ schema, parent: undefined, name: "", isParameter: false });
}

/** Whether a schema may have an annotation, in itself or in a subschema. Most have neither: 100,000 fit into a megabyte. */
function isAnnotated(schema: unknown): schema is JsonObject {
  if (!isPlainObject(schema)) return false;
  for (const keyword in schema)
    if (keyword === ANNOTATION || typeof schema[keyword] === "object") return true;
  return false;
}

/** Returns the headers of one call. Missing arguments have no header. */
export function toParameterHeaders(
  headers: readonly ParameterHeader[],
  args: unknown,
): Record<string, string> {
  const entries = headers.flatMap(({ path, header }): [string, string][] => {
    const value = path.reduce((parent, key) => (isPlainObject(parent) ? parent[key] : undefined), args);
    const isSimple = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
    return isSimple ? [[`mcp-param-${header.toLowerCase()}`, encodeHeaderValue(printValue(value))]] : [];
  });
  return Object.fromEntries(entries);
}
