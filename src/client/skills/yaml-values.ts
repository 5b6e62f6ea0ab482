import type { JsonObject } from "../../json/json.js";

export const MAX_YAML_DEPTH = 32;

interface FlowValue {
  readonly value: unknown;
  /** The position after it. */
  readonly end: number;
}

/** Reads a quoted scalar, or a flow collection (`[a, b]`, `{a: b}`) on one line. */
export function readFlowValue(text: string, start: number, depth: number): FlowValue {
  if (depth > MAX_YAML_DEPTH) throw new Error(`more than ${MAX_YAML_DEPTH} levels`);
  const first = text[start];
  if (first === '"' || first === "'") return readQuoted(text, start);
  if (first === "[" || first === "{") return readFlowCollection(text, start, depth);
  const end = findPlainEnd(text, start);
  const plain = trimBlanks(text.slice(start, end));
  if (plain === "" || /^[&*!|>%@`#]|^[-?:](?:[ \t]|$)/.test(plain))
    throw new Error("unsupported value in a flow collection");
  return { value: resolveScalar(plain), end };
}

function readFlowCollection(text: string, start: number, depth: number): FlowValue {
  const isSequence = text[start] === "[";
  const close = isSequence ? "]" : "}";
  const items: unknown[] = [];
  const mapping: JsonObject = {};
  let position = skipBlanks(text, start + 1);
  while (text[position] !== close) {
    let item = readFlowValue(text, position, depth + 1);
    position = skipBlanks(text, item.end);
    if (!isSequence) {
      const key = toKey(item.value);
      if (Object.hasOwn(mapping, key)) throw new Error("a key is repeated");
      if (text[position] !== ":") throw new Error('expected "key: value" in a flow mapping');
      item = readFlowValue(text, skipBlanks(text, position + 1), depth + 1);
      position = skipBlanks(text, item.end);
      mapping[key] = item.value;
    }
    items.push(item.value);
    if (text[position] === ",") position = skipBlanks(text, position + 1);
    else if (text[position] !== close) throw new Error("a flow collection does not end on its line");
  }
  return { value: isSequence ? items : mapping, end: position + 1 };
}

/** Returns a key, which must be a string. */
export function toKey(value: unknown): string {
  if (typeof value === "string" && value !== "__proto__") return value;
  throw new Error("unsupported key");
}

/** A plain scalar in a flow collection ends at an indicator, at `: `, and at a comment. */
function findPlainEnd(text: string, start: number): number {
  for (let end = start; end < text.length; end += 1) {
    const character = text[end] ?? "";
    if (",[]{}".includes(character)) return end;
    if (character === ":" && " \t,[]{}".includes(text[end + 1] ?? " ")) return end;
    if (character === "#" && isBlank(text[end - 1])) return end;
  }
  return text.length;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "0": "\0",
  a: "\u0007",
  b: "\b",
  t: "\t",
  "\t": "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\u001b",
  " ": " ",
  '"': '"',
  "/": "/",
  "\\": "\\",
  N: "\u0085",
  _: "\u00a0",
  L: "\u2028",
  P: "\u2029",
};
const HEX_LENGTHS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function readQuoted(text: string, start: number): FlowValue {
  const quote = text[start];
  let value = "";
  for (let position = start + 1; position < text.length; position += 1) {
    const character = text[position] ?? "";
    const next = text[position + 1] ?? "";
    if (character === quote && (quote === '"' || next !== quote)) return { value, end: position + 1 };
    if (character === quote) {
      value += quote;
      position += 1;
    } else if (character === "\\" && quote === '"') {
      const hexLength = HEX_LENGTHS[next] ?? 0;
      value +=
        hexLength > 0
          ? readHex(text.slice(position + 2, position + 2 + hexLength), hexLength)
          : unescape(next);
      position += 1 + hexLength;
    } else {
      value += character;
    }
  }
  throw new Error("a quoted value does not end on its line");
}

function unescape(character: string): string {
  const value = ESCAPES[character];
  if (value === undefined) throw new Error("unknown escape");
  return value;
}

function readHex(digits: string, length: number): string {
  const code = Number.parseInt(digits, 16);
  if (digits.length !== length || !/^[0-9a-f]+$/i.test(digits) || code > 0x10_ff_ff)
    throw new Error("invalid escape");
  return String.fromCodePoint(code);
}

const INTEGER_BASES: readonly (readonly [pattern: RegExp, base: number])[] = [
  [/^0o[0-7]+$/, 8],
  [/^0x[0-9a-f]+$/i, 16],
];
const NUMBER = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** The type of a plain scalar in the core schema of YAML 1.2. */
export function resolveScalar(text: string): unknown {
  if (/^(?:~|null|Null|NULL|)$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  const base = INTEGER_BASES.find(([pattern]) => pattern.test(text))?.[1];
  if (base === undefined && !NUMBER.test(text) && !/^[-+]?\.(?:inf|nan)$/i.test(text)) return text;
  const value = base === undefined ? Number(text) : Number.parseInt(text.slice(2), base);
  if (!Number.isFinite(value)) throw new Error("a number that JSON cannot represent");
  return value;
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

export function skipBlanks(text: string, start: number): number {
  let position = start;
  while (isBlank(text[position])) position += 1;
  return position;
}

/** Unlike `trim()`, removes spaces and tabs only, as YAML does. */
export function trimBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text[end - 1])) end -= 1;
  return text.slice(skipBlanks(text, 0), end);
}

/** Removes a comment from the end of a line: `#` after a blank. */
export function stripComment(text: string): string {
  const start = text.startsWith("#") ? 0 : text.search(/[ \t]#/);
  return start < 0 ? text : trimBlanks(text.slice(0, start));
}
