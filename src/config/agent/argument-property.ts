import { describeValue } from "../../json/describe-value.js";
import { parseJsonPath, SUPPORTED_PATHS } from "../../json/json-path.js";
import {
  addIssue,
  readField,
  matchEnum,
  readBoolean,
  isObject,
  readItems,
  readJson,
  readEnum,
  readString,
  type Cursor,
} from "./parse-cursor.js";

interface BaseArgument {
  /** Hidden from the model and from logs. */
  readonly isSensitive: boolean;
}

interface StaticArgument extends BaseArgument {
  readonly variant: "static";
  readonly value: unknown;
}

interface InputArgument extends BaseArgument {
  readonly variant: "argument";
  /** A path into the agent's input: `userId`, `$['user']['id']`. */
  readonly argumentPath: string;
}

const TOKEN_TYPES = ["simpleText", "variable", "expression"] as const;

export interface TextToken {
  readonly type: (typeof TOKEN_TYPES)[number];
  /** The literal text, or the name of a variable: `input.user.email`. */
  readonly rawString: string;
}

interface TextArgument extends BaseArgument {
  readonly variant: "textBuilder";
  readonly tokens: readonly TextToken[];
}

/** An array built from the properties below it: those of `$['ids']` are `$['ids'][0]`, `$['ids'][1]` … */
interface ArrayArgument extends BaseArgument {
  readonly variant: "arrayBuilder";
}

/** The source of an injected argument. */
export type ArgumentProperty = StaticArgument | InputArgument | TextArgument | ArrayArgument;

const VARIANTS = ["static", "argument", "textBuilder", "arrayBuilder", "dynamic"] as const;

/** Values are sent with every call, and `JSON.stringify` may overflow the stack on deeper ones. */
const VALUE_CLONE_OPTIONS = { nonJson: "reject", maxDepth: 1_000 } as const;

/**
 * Parses an argument property. `undefined` when the model provides the argument: the variant is `dynamic`
 * or unknown; the latter adds a warning with `location`.
 */
export function parseArgumentProperty(cursor: Cursor, location: string): ArgumentProperty | undefined {
  if (!isObject(cursor)) return undefined;
  const variantCursor = readField(cursor, "variant");
  const { value: name } = variantCursor;
  if (typeof name === "string" && matchEnum(name, VARIANTS) === undefined) {
    const problem = `unknown variant ${describeValue(name)}`;
    cursor.report.warnings.push(`${location}: ${problem}; the argument is left to the model.`);
    return undefined;
  }
  const variant = readEnum(variantCursor, VARIANTS);
  if (variant === undefined || variant === "dynamic") return undefined;
  const isSensitive = readBoolean(readField(cursor, "isSensitive"), false);
  switch (variant) {
    case "static":
      return { variant, isSensitive, value: readJson(readField(cursor, "value"), VALUE_CLONE_OPTIONS) };
    case "argument":
      return { variant, isSensitive, argumentPath: parseSupportedPath(readField(cursor, "argumentPath")) };
    case "textBuilder":
      return { variant, isSensitive, tokens: readItems(readField(cursor, "tokens")).flatMap(parseToken) };
    case "arrayBuilder":
      return { variant, isSensitive };
  }
}

function parseSupportedPath(cursor: Cursor): string {
  const path = readString(cursor);
  if (typeof cursor.value === "string" && parseJsonPath(path) === undefined)
    addIssue(cursor, `is not a supported path; supported: ${SUPPORTED_PATHS}`);
  return path;
}

function parseToken(cursor: Cursor): TextToken[] {
  if (!isObject(cursor)) return [];
  const type = readEnum(readField(cursor, "type"), TOKEN_TYPES);
  const rawString = readString(readField(cursor, "rawString"));
  return type === undefined ? [] : [{ type, rawString }];
}
