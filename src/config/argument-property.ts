import { describeValue } from "../json/describe-value.js";
import { parseJsonPath, READABLE_PATHS } from "../json/json-path.js";
import {
  complain,
  field,
  findWord,
  flag,
  isObject,
  items,
  json,
  oneOf,
  text,
  type Written,
} from "./parse-cursor.js";

interface Common {
  /** Hidden from the model and from logs. */
  readonly isSensitive: boolean;
}

interface StaticArgument extends Common {
  readonly variant: "static";
  readonly value: unknown;
}

interface InputArgument extends Common {
  readonly variant: "argument";
  /** A path into the agent's input: `userId`, `$['user']['id']`. */
  readonly argumentPath: string;
}

const TOKEN_TYPES = ["simpleText", "variable", "expression"] as const;

export interface TextToken {
  readonly type: (typeof TOKEN_TYPES)[number];
  /** The text itself, or the name of a variable: `input.user.email`. */
  readonly rawString: string;
}

interface TextArgument extends Common {
  readonly variant: "textBuilder";
  readonly tokens: readonly TextToken[];
}

/** A list made of the properties below it: those of `$['ids']` are `$['ids'][0]`, `$['ids'][1]` … */
interface ListArgument extends Common {
  readonly variant: "arrayBuilder";
}

/** Where an argument that we fill in comes from. */
export type ArgumentProperty = StaticArgument | InputArgument | TextArgument | ListArgument;

const VARIANTS = ["static", "argument", "textBuilder", "arrayBuilder", "dynamic"] as const;

/** Values travel with every call: what is deeper than this, `JSON.stringify` cannot send everywhere. */
const VALUE = { foreign: "refuse", maxDepth: 1_000 } as const;

/**
 * One argument property, or `undefined` when it leaves the argument to the model: because that is
 * what it says (`dynamic`), or because we do not know its variant, which is a warning. `place` tells
 * people where it stands.
 */
export function readArgumentProperty(at: Written, place: string): ArgumentProperty | undefined {
  if (!isObject(at)) return undefined;
  const variantAt = field(at, "variant");
  const { value: word } = variantAt;
  if (typeof word === "string" && findWord(word, VARIANTS) === undefined) {
    const what = `its variant, ${describeValue(word)}, is not known`;
    at.findings.warnings.push(`${place}: ${what}, so the argument is left to the model.`);
    return undefined;
  }
  const variant = oneOf(variantAt, VARIANTS);
  if (variant === undefined || variant === "dynamic") return undefined;
  const isSensitive = flag(field(at, "isSensitive"), false);
  switch (variant) {
    case "static":
      return { variant, isSensitive, value: json(field(at, "value"), VALUE) };
    case "argument":
      return { variant, isSensitive, argumentPath: readablePath(field(at, "argumentPath")) };
    case "textBuilder":
      return { variant, isSensitive, tokens: items(field(at, "tokens")).flatMap(readToken) };
    case "arrayBuilder":
      return { variant, isSensitive };
  }
}

function readablePath(at: Written): string {
  const path = text(at);
  if (typeof at.value === "string" && parseJsonPath(path) === undefined)
    complain(at, `is no path that can be read; allowed are ${READABLE_PATHS}`);
  return path;
}

function readToken(at: Written): TextToken[] {
  if (!isObject(at)) return [];
  const type = oneOf(field(at, "type"), TOKEN_TYPES);
  const rawString = text(field(at, "rawString"));
  return type === undefined ? [] : [{ type, rawString }];
}
