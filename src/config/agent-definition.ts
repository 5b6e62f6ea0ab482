import { z } from "zod";
import { printValue } from "../errors/sanitize-text.js";
import { isDenseArray, isPlainObject, type JsonObject } from "../json/json.js";
import { parseJsonPath, SUPPORTED_PATHS } from "../json/json-path.js";
import { describeValue } from "../json/describe-value.js";
import { safeClone, type SafeCloneOptions } from "../json/safe-clone.js";
import { addIssueAt, type IssueContext, option, parsePart } from "./parse-options.js";

/** Accepts the listed values and, for JSON imported as a module, any string. */
type AnyOf<Values extends string> = Values | (string & {});

/** No field is required by its type, because each may be written in snake case. */
type AgentInput<Shape extends z.ZodRawShape> = {
  readonly [Key in keyof Shape]?: z.input<Shape[Key]> | undefined;
} & { readonly [key: string]: unknown };

/**
 * An object of an agent definition. Fields may be written in snake case, and other keys are ignored. The
 * schema is built when it is first used.
 */
function agentObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.lazy(() => {
    const fields: z.ZodType<z.output<z.ZodObject<Shape>>, JsonObject> = z.object(shape);
    return option
      .opaque<AgentInput<Shape>>("an object", isPlainObject)
      .transform((value): JsonObject => {
        const entries = Object.keys(shape).map((name) => [name, value[findSpelling(value, name)]]);
        return Object.fromEntries(entries) as JsonObject;
      })
      .pipe(fields);
  });
}

/** A schema whose input has the name of an interface, which editors show instead of the schema. */
function withInputType<Schema extends z.ZodType, Input extends z.input<Schema>>(
  schema: Schema,
): z.ZodType<z.output<Schema>, Input> {
  return schema as z.ZodType<z.output<Schema>, Input>;
}

/** The name that an object uses for a field: in camel case, in snake case, or another one. */
export function findSpelling(object: JsonObject, ...names: readonly [string, ...string[]]): string {
  for (const name of names)
    for (const spelling of [name, toSnakeCase(name)])
      if (Object.hasOwn(object, spelling) && object[spelling] !== undefined) return spelling;
  return names[0];
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `null` counts as missing: some serializers write it for absent values. */
function withDefault<Schema extends z.ZodType, Default>(schema: Schema, defaultValue: Default) {
  return schema.nullish().transform((value) => value ?? defaultValue);
}

function optional<Schema extends z.ZodType>(schema: Schema) {
  return withDefault(schema, undefined);
}

/**
 * A definition may have any number of problems, and an error shows the first ones. No more than these are
 * looked for.
 */
export const MAX_PROBLEMS = 20_000;

/** Added to the problems if there are too many. */
export const MORE_PROBLEMS = `has at least ${MAX_PROBLEMS} problems; the rest was not checked`;

type ListContext = IssueContext & { readonly issues: readonly unknown[] };

/** Parses values one by one, until there are too many problems. */
function parseEach<Value, Parsed>(
  values: readonly Value[],
  context: ListContext,
  parse: (value: Value, index: number) => Parsed,
): Parsed[] {
  const parsed: Parsed[] = [];
  for (const [index, value] of values.entries()) {
    if (context.issues.length >= MAX_PROBLEMS) {
      addIssueAt(context, [], MORE_PROBLEMS);
      break;
    }
    parsed.push(parse(value, index));
  }
  return parsed;
}

function list<Item extends z.ZodType>(item: Item) {
  const items = option
    .opaque<readonly z.input<Item>[]>("an array", isDenseArray)
    .transform((values, context) =>
      parseEach(
        values,
        context,
        (value, index) => parsePart(item, value, context, [index]) as z.output<Item>,
      ),
    );
  return withDefault(items, []);
}

/** One of these values, in upper or lower case. */
function enumIgnoringCase<const Value extends string>(...values: readonly Value[]) {
  return z.preprocess((value: AnyOf<Value>) => matchIgnoringCase(value, values) ?? value, z.enum(values));
}

function matchIgnoringCase<Value extends string>(
  value: unknown,
  values: readonly Value[],
): Value | undefined {
  return typeof value === "string"
    ? values.find((candidate) => candidate.toLowerCase() === value.toLowerCase())
    : undefined;
}

/** A deep copy of a value, because the definition may change later. */
function cloned<Value>(schema: z.ZodType<Value, Value>, options: SafeCloneOptions) {
  return schema.transform((value, context) => {
    const { copy, problems } = safeClone(value, options);
    parseEach(problems, context, ({ path, message }) => addIssueAt(context, path, message));
    return copy as Value;
  });
}

const plainObject = option.opaque<JsonObject>("an object", isPlainObject);
/** Values are sent with every call, and `JSON.stringify` may overflow the stack on deeper ones. */
const staticValue = cloned(
  option.opaque<unknown>("a value", (value) => value !== undefined),
  { nonJson: "reject", maxDepth: 1_000 },
);
/** Deeper than any schema written by hand, and within what the schema modules can traverse. */
const jsonSchema = cloned(plainObject, { nonJson: "reject", maxDepth: 20_000 });
/** Definitions built in code may contain functions and URL objects, which are kept. */
const inlineServer = cloned(plainObject, { nonJson: "preserve", maxDepth: 1_000 });
const nonBlankString = option.opaque<string>(
  "a non-empty string",
  (value) => typeof value === "string" && value.trim() !== "",
);

const TOKEN_SCHEMA = agentObject({
  type: enumIgnoringCase("simpleText", "variable", "expression"),
  /** The literal text, or the name of a variable: `input.user.email`. */
  rawString: z.string(),
});
export type TextToken = z.output<typeof TOKEN_SCHEMA>;

/** Hidden from the model and from logs. */
const isSensitive = withDefault(z.boolean(), false);

/** Where an injected argument comes from, by variant. */
const PROPERTY_SCHEMAS = {
  static: agentObject({ isSensitive, value: staticValue }),
  argument: agentObject({
    isSensitive,
    /** A path into the agent's input: `userId`, `$['user']['id']`. */
    argumentPath: z.string().refine((path) => parseJsonPath(path) !== undefined, {
      error: `is not a supported path; supported: ${SUPPORTED_PATHS}`,
    }),
  }),
  textBuilder: agentObject({ isSensitive, tokens: list(TOKEN_SCHEMA) }),
  /** An array built from the properties below it: those of `$['ids']` are `$['ids'][0]`, `$['ids'][1]` … */
  arrayBuilder: agentObject({ isSensitive }),
};
type Variant = keyof typeof PROPERTY_SCHEMAS;
const VARIANTS = [...(Object.keys(PROPERTY_SCHEMAS) as Variant[]), "dynamic"] as const;
const VARIANT_SCHEMA = enumIgnoringCase(...VARIANTS);

/** The source of an injected argument. */
export type ArgumentProperty = {
  [Name in Variant]: { readonly variant: Name } & z.output<(typeof PROPERTY_SCHEMAS)[Name]>;
}[Variant];

/** The model provides the argument: the variant is `dynamic` or, with a warning, an unknown one. */
interface ModelArgument {
  readonly variant: "dynamic";
  readonly unknownVariant: string | undefined;
}

const PROPERTY_SCHEMA = plainObject.transform((value, context): ArgumentProperty | ModelArgument => {
  const { variant: name } = value;
  const variant = matchIgnoringCase(name, VARIANTS);
  if (variant !== undefined && variant !== "dynamic")
    return { variant, ...parsePart<object>(PROPERTY_SCHEMAS[variant], value, context) } as ArgumentProperty;
  if (typeof name !== "string") parsePart(VARIANT_SCHEMA, name, context, ["variant"]);
  return { variant: "dynamic", unknownVariant: variant === undefined ? printValue(name) : undefined };
});

/** How many entries the `argumentProperties` of a tool may have: each is applied with every call. */
const MAX_ARGUMENT_PROPERTIES = 1_000;

/** Entries instead of a record, which could not have the key `__proto__`. */
const PROPERTIES_SCHEMA = option
  .opaque<Readonly<Record<string, JsonObject>>>("an object", isPlainObject)
  .transform((properties, context) => {
    const { length } = Object.keys(properties);
    if (length > MAX_ARGUMENT_PROPERTIES) {
      const message = `has ${length} entries; at most ${MAX_ARGUMENT_PROPERTIES} are allowed`;
      addIssueAt(context, [], message);
      return z.NEVER;
    }
    return parseEach(Object.entries(properties), context, ([path, property]) => {
      // Arguments are an object, so the first segment is a name.
      if (typeof parseJsonPath(path)?.[0] === "string")
        return [path, parsePart(PROPERTY_SCHEMA, property, context, [path]) ?? z.NEVER] as const;
      addIssueAt(context, [path], `is not a supported argument path; supported: ${SUPPORTED_PATHS}`);
      return z.NEVER;
    });
  });

const TOOL_SCHEMA = agentObject({
  /** The name on the server, unchanged. Required, and unique in its resource. */
  name: z.string(),
  /** The description that the model sees. */
  description: optional(z.string()),
  /** The JSON Schema of the arguments, of type `object`. Required. */
  inputSchema: jsonSchema.refine(({ type = "object" }) => type === "object", {
    path: ["type"],
    error: ({ input }) => `expected "object", got ${describeValue((input as JsonObject)["type"])}`,
  }),
  /** The JSON Schema of the structured result. */
  outputSchema: optional(jsonSchema),
  /** Arguments that the library injects, by a JSONPath into the arguments: `$['user']['name']`. */
  argumentProperties: withDefault(PROPERTIES_SCHEMA, []),
});

/**
 * Where the tools of an agent resource come from.
 * - `cached`: the snapshots; `refreshSchemaBeforeCall` compares them with the server before a call.
 * - `dynamic`: the server's list, restricted to the names of the snapshots unless `allowAll`.
 */
type ToolDiscovery =
  | { readonly type: "cached"; readonly refreshSchemaBeforeCall: boolean }
  | { readonly type: "dynamic"; readonly allowAll: boolean };

const DISCOVERY_SCHEMA = agentObject({
  /** `cached` uses the saved tools, `dynamic` the list of the server. Required. */
  type: enumIgnoringCase("cached", "dynamic"),
  /**
   * With `cached`: compare a saved tool with the server before a call.
   * @default true
   */
  refreshSchemaBeforeCall: withDefault(z.boolean(), true),
  /**
   * With `dynamic`: use all tools of the server, not only those with the name of a saved one.
   * @default false
   */
  allowAll: withDefault(z.boolean(), false),
}).transform(({ type, refreshSchemaBeforeCall, allowAll }): ToolDiscovery => {
  return type === "cached" ? { type, refreshSchemaBeforeCall } : { type, allowAll };
});

const DISCOVERY_BY_DYNAMIC_TOOLS: Readonly<Record<"none" | "schema" | "all", ToolDiscovery>> = {
  none: { type: "cached", refreshSchemaBeforeCall: false },
  schema: { type: "dynamic", allowAll: false },
  all: { type: "dynamic", allowAll: true },
};
const DYNAMIC_TOOLS_SCHEMA = withDefault(
  enumIgnoringCase("none", "schema", "all").transform((mode) => DISCOVERY_BY_DYNAMIC_TOOLS[mode]),
  { type: "cached", refreshSchemaBeforeCall: true } satisfies ToolDiscovery,
);

const TOOLS_CONFIGURATION_SCHEMA = agentObject({
  /**
   * How tools are discovered.
   * @default { type: "cached" }
   */
  discoveryMode: optional(withInputType<typeof DISCOVERY_SCHEMA, AgentDiscoveryMode>(DISCOVERY_SCHEMA)),
});

const MCP_RESOURCE_SCHEMA = agentObject({
  /** The type of the resource. Resources of other types than `mcp` are ignored. */
  $resourceType: z.custom<AnyOf<"mcp"> | null>(),
  /** The name of the server in events, errors and tool names. Required. */
  name: nonBlankString,
  /** What the server is for. Not shown to the model. */
  description: optional(z.string()),
  /**
   * The id of the server on its platform, unique among the enabled resources.
   * @default the name
   */
  slug: optional(nonBlankString),
  /** The folder of the server on its platform. */
  folderPath: optional(z.string()),
  /**
   * Whether the agent uses the resource.
   * @default true
   */
  isEnabled: withDefault(z.boolean(), true),
  /**
   * The tools as saved in the definition.
   * @default []
   */
  availableTools: list(withInputType<typeof TOOL_SCHEMA, AgentTool>(TOOL_SCHEMA)),
  /** Where the tools come from. */
  toolsConfiguration: optional(
    withInputType<typeof TOOLS_CONFIGURATION_SCHEMA, AgentToolsConfiguration>(TOOLS_CONFIGURATION_SCHEMA),
  ),
  /** The predecessor of `toolsConfiguration`, which takes precedence: `none`, `schema` or `all`. */
  dynamicTools: z.unknown().optional(),
  /** An inline server definition. Used only with `allowInlineServers`. */
  server: optional(inlineServer),
}).transform(({ toolsConfiguration, dynamicTools, ...resource }, context) => {
  const { $resourceType: _, ...fields } = resource;
  const mode = toolsConfiguration?.discoveryMode;
  const discovery = mode ?? parsePart(DYNAMIC_TOOLS_SCHEMA, dynamicTools, context, ["dynamicTools"]);
  return { ...fields, discovery: discovery ?? z.NEVER };
});

/** A resource that is not used: of another type, or without one. */
type IgnoredResource = "other-type" | "no-type";

const RESOURCE_SCHEMA = z.custom<AgentResource>().transform((value: unknown, context) => {
  if (isPlainObject(value)) {
    const type = value[findSpelling(value, "$resourceType", "resourceType")];
    if (typeof type !== "string") return "no-type" satisfies IgnoredResource;
    if (type.toLowerCase() !== "mcp") return "other-type" satisfies IgnoredResource;
  }
  return parsePart(MCP_RESOURCE_SCHEMA, value, context) ?? z.NEVER;
});

/** The schema of an agent definition. Does not read resources of other types. */
export const AGENT_SCHEMA = agentObject({
  /** The name of the agent. */
  name: z.custom<string | null>(),
  /**
   * What the agent may use: MCP servers, and resources of other types.
   * @default []
   */
  resources: list(RESOURCE_SCHEMA),
});

/**
 * An agent definition: the JSON that `createMcpToolsFromAgent` accepts. Keys that are not listed here are
 * ignored.
 */
export interface AgentDefinition extends z.input<typeof AGENT_SCHEMA> {}
/** A resource of an agent definition. Resources of other types than `mcp` are ignored. */
export interface AgentResource extends z.input<typeof MCP_RESOURCE_SCHEMA> {}
/** Where the tools of a resource come from. */
export interface AgentToolsConfiguration extends z.input<typeof TOOLS_CONFIGURATION_SCHEMA> {}
/** How the tools of a resource are discovered. */
export interface AgentDiscoveryMode extends z.input<typeof DISCOVERY_SCHEMA> {}
/** A tool snapshot as written in an agent definition. Keys may also be written in snake case. */
export interface AgentTool extends z.input<typeof TOOL_SCHEMA> {}

/** A tool as saved in an agent definition, so that the server need not be contacted before the first call. */
export interface ToolSnapshot {
  /** The name on the server, unchanged. */
  readonly name: string;
  /** The description that the model sees. */
  readonly description?: string | undefined;
  /** The JSON Schema of the arguments, of type `object`. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of the structured result; `undefined` if the tool has none. */
  readonly outputSchema?: JsonObject | undefined;
  /** Arguments that the library injects, by a JSONPath into the arguments: `$['user']['name']`. */
  readonly argumentProperties: Readonly<Record<string, ArgumentProperty>>;
}

/** An MCP resource of an agent definition, validated and with its defaults filled in. */
export interface McpAgentResource {
  /** The name of the server in events, errors and tool names. */
  readonly name: string;
  /** What the server is for; not shown to the model. */
  readonly description?: string | undefined;
  /** The id of the server on its platform. Defaults to the name. */
  readonly slug: string;
  /** The folder of the server on its platform. */
  readonly folderPath?: string | undefined;
  /** Whether the agent uses the resource. */
  readonly isEnabled: boolean;
  /** The tools as saved in the definition. */
  readonly availableTools: readonly ToolSnapshot[];
  /** Whether the tools are the saved ones or those that the server lists. */
  readonly discovery: ToolDiscovery;
  /** An inline server definition, not validated. Only used when inline servers are allowed. */
  readonly server?: JsonObject | undefined;
}
