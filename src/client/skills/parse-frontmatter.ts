import { describeThrown } from "../../errors/sanitize-text.js";
import type { JsonObject } from "../../json/json.js";
import { MAX_FRONTMATTER_CHARS } from "./skill-info.js";

/** A `SKILL.md`, split into its metadata and its instructions. */
interface SkillDocument {
  readonly frontmatter: JsonObject;
  /** The Markdown after the frontmatter. */
  readonly body: string;
}

const START = "---\n";

/**
 * Splits a `SKILL.md` and parses its YAML frontmatter: block mappings and sequences, plain, quoted and block scalars, flow
 * collections on one line, and comments, with the types of YAML 1.2. Throws for all other YAML, such as anchors and tags:
 * what other parsers may read differently must not pass a comparison. Messages do not quote the file: models see them.
 */
export function parseSkillDocument(markdown: string): SkillDocument {
  const text = markdown.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  if (!text.startsWith(START)) throw new Error('the file does not start with a line "---"');
  const rest = text.slice(START.length);
  // Without the flag `m`, which takes U+2028 for a line break.
  const end = /(?:^|\n)---[ \t]*(?:\n|$)/.exec(rest);
  if (end === null) throw new Error('the frontmatter does not end with a line "---"');
  if (end.index > MAX_FRONTMATTER_CHARS)
    throw new Error(`the frontmatter is longer than ${MAX_FRONTMATTER_CHARS} characters`);
  const reader = new YamlReader(rest.slice(0, end.index));
  return { frontmatter: reader.read(), body: rest.slice(end.index + end[0].length) };
}

interface Line {
  readonly indent: number;
  /** Without indentation and blanks at its end. */
  readonly text: string;
}

/** Reads block collections and block scalars, line by line. */
class YamlReader {
  readonly #lines: string[];
  #position = 0;

  constructor(yaml: string) {
    this.#lines = yaml.split("\n");
  }

  read(): JsonObject {
    try {
      const first = this.#peek();
      const document = first === undefined ? {} : this.#readMapping(first.indent, 0);
      if (this.#peek() !== undefined) throw new Error("unexpected content or indentation");
      return document;
    } catch (error) {
      const problem = describeThrown(error);
      // The lines of the file are counted from 1, and the first one is the marker.
      throw new Error(`${problem} (near line ${this.#position + 2})`, { cause: error });
    }
  }

  /** Skips blank lines and comments, and returns the next line. */
  #peek(): Line | undefined {
    for (; this.#position < this.#lines.length; this.#position += 1) {
      const line = this.#lineAt(this.#position);
      if (line.text !== "" && !line.text.startsWith("#")) return line;
    }
    return undefined;
  }

  #lineAt(position: number): Line {
    const raw = this.#lines[position] ?? "";
    const indent = countSpaces(raw);
    if (raw[indent] === "\t" || raw.includes("\r"))
      throw new Error("a tab in the indentation, or an unsupported line break");
    return { indent, text: trimBlanks(raw) };
  }

  #readMapping(indent: number, depth: number): JsonObject {
    assertDepth(depth);
    const mapping: JsonObject = {};
    for (let line = this.#peek(); line?.indent === indent; line = this.#peek()) {
      if (isItem(line.text)) break;
      const pair = splitPair(line.text);
      if (pair === undefined) throw new Error('expected "key: value"');
      const [key, rest] = pair;
      if (Object.hasOwn(mapping, key)) throw new Error("a key is repeated");
      this.#position += 1;
      // The lines after a value that starts here belong to it, even if they look like comments.
      const next = rest === "" ? this.#peek() : undefined;
      const isCompactSequence = next?.indent === indent && isItem(next.text);
      mapping[key] = isCompactSequence
        ? this.#readSequence(indent, depth + 1)
        : this.#readValue(rest, indent, depth + 1);
    }
    return mapping;
  }

  #readSequence(indent: number, depth: number): unknown[] {
    assertDepth(depth);
    const items: unknown[] = [];
    for (let line = this.#peek(); line?.indent === indent && isItem(line.text); line = this.#peek()) {
      const start = skipBlanks(line.text, 1);
      const rest = line.text.slice(start);
      if (isItem(rest) || splitPair(rest) !== undefined) {
        // A collection that starts in the line of its item.
        if (line.text.slice(0, start).includes("\t")) throw new Error("a tab in the indentation");
        this.#lines[this.#position] = " ".repeat(indent + start) + rest;
        items.push(this.#readBlock(indent, depth + 1));
      } else {
        this.#position += 1;
        items.push(this.#readValue(stripLeadingComment(rest), indent, depth + 1));
      }
    }
    return items;
  }

  /** Reads the value after a key or a dash, which may be on the next lines. */
  #readValue(rest: string, indent: number, depth: number): unknown {
    return rest === "" ? this.#readBlock(indent, depth) : this.#readInline(rest, indent, depth);
  }

  /** Reads the lines that are indented more than `indent`. */
  #readBlock(indent: number, depth: number): unknown {
    const line = this.#peek();
    if (line === undefined || line.indent <= indent) return null;
    if (isItem(line.text)) return this.#readSequence(line.indent, depth);
    if (splitPair(line.text) !== undefined) return this.#readMapping(line.indent, depth);
    this.#position += 1;
    return this.#readInline(line.text, indent, depth);
  }

  /** Reads a value whose first line is `text`. */
  #readInline(text: string, indent: number, depth: number): unknown {
    if (/^[|>]/.test(text)) return this.#readBlockScalar(text, indent);
    if (!/^["'[{]/.test(text)) return resolveScalar(this.#readPlain(text, indent));
    const { value, end } = readFlowValue(text, 0, depth);
    const rest = text.slice(end);
    if (rest !== "" && (skipBlanks(rest, 0) === 0 || stripComment(trimBlanks(rest)) !== ""))
      throw new Error("unexpected text after a value");
    return value;
  }

  /** Joins the lines of a plain scalar: a line break becomes a space, and blank lines become line breaks. */
  #readPlain(first: string, indent: number): string {
    if (/^[&*!%@`,\]}]|^[-?:](?:[ \t]|$)/.test(first))
      throw new Error("unsupported value, such as an anchor, an alias or a tag");
    let part = stripComment(first);
    let value = part;
    let isEnded = part !== first;
    let blanks = 0;
    for (; this.#position < this.#lines.length; this.#position += 1) {
      const line = this.#lineAt(this.#position);
      const isEnd = line.text !== "" && (line.indent <= indent || line.text.startsWith("#"));
      if (isEnd) break;
      if (line.text === "") {
        blanks += 1;
        continue;
      }
      if (isEnded) throw new Error("a value continues after a comment");
      part = stripComment(line.text);
      isEnded = part !== line.text;
      value += (blanks === 0 ? " " : "\n".repeat(blanks)) + part;
      blanks = 0;
    }
    if (/:(?:\s|$)/.test(value)) throw new Error('a value with ": " has to be quoted');
    return value;
  }

  #readBlockScalar(header: string, indent: number): string {
    const style = trimBlanks(stripComment(header));
    if (!/^[|>]-?$/.test(style)) throw new Error("unsupported block scalar");
    const lines: string[] = [];
    let blockIndent: number | undefined;
    let blanks = 0;
    for (; this.#position < this.#lines.length; this.#position += 1) {
      const raw = this.#lines[this.#position] ?? "";
      const spaces = countSpaces(raw);
      const isBlankLine = spaces === raw.length;
      if (!isBlankLine && spaces <= indent) break;
      if (!isBlankLine && blockIndent === undefined) {
        if (blanks > spaces) throw new Error("a blank line is indented more than the block scalar");
        blockIndent = spaces;
      }
      if (blockIndent === undefined) blanks = Math.max(blanks, spaces);
      if (!isBlankLine && spaces < (blockIndent ?? 0)) throw new Error("unexpected indentation");
      lines.push(blockIndent === undefined ? "" : raw.slice(blockIndent));
    }
    while (lines.at(-1) === "") lines.pop();
    const text = style.startsWith(">") ? foldLines(lines) : lines.join("\n");
    return style.endsWith("-") || text === "" ? text : `${text}\n`;
  }
}

/** Joins lines with spaces; blank lines and lines that are indented more keep their line breaks. */
function foldLines(lines: readonly string[]): string {
  let text = "";
  let blanks = 0;
  let previous: string | undefined;
  for (const line of lines) {
    if (line === "") {
      blanks += 1;
      continue;
    }
    const isIndented = [previous, line].some((candidate) => /^[ \t]/.test(candidate ?? ""));
    const breaks = previous === undefined || !isIndented ? blanks : blanks + 1;
    text += previous !== undefined && breaks === 0 ? " " : "\n".repeat(breaks);
    text += line;
    previous = line;
    blanks = 0;
  }
  return text;
}

function isItem(text: string): boolean {
  return /^-(?:[ \t]|$)/.test(text);
}

function countSpaces(text: string): number {
  return /^ */.exec(text)?.[0].length ?? 0;
}

function assertDepth(depth: number): void {
  if (depth > MAX_YAML_DEPTH) throw new Error(`more than ${MAX_YAML_DEPTH} levels`);
}

/** Splits `key: value`, without a comment in place of the value. Returns `undefined` if the text is not a pair. */
function splitPair(text: string): readonly [key: string, rest: string] | undefined {
  const quoted = /^["']/.test(text) ? readFlowValue(text, 0, 0) : undefined;
  const end = quoted?.end ?? text.search(/:(?:[ \t]|$)/);
  if (end < 0 || !/^:(?:[ \t]|$)/.test(text.slice(end, end + 2))) return undefined;
  const raw = trimBlanks(text.slice(0, end));
  if (quoted === undefined && (/^[[\]{}&*!|>%@`#,]|^\?/.test(raw) || /[ \t]#/.test(raw))) return undefined;
  const key = toKey(quoted === undefined ? resolveScalar(raw) : quoted.value);
  return [key, stripLeadingComment(trimBlanks(text.slice(end + 1)))];
}

function stripLeadingComment(text: string): string {
  return text.startsWith("#") ? "" : text;
}

const MAX_YAML_DEPTH = 32;

interface FlowValue {
  readonly value: unknown;
  /** The position after it. */
  readonly end: number;
}

/** Reads a quoted scalar, or a flow collection (`[a, b]`, `{a: b}`) on one line. */
function readFlowValue(text: string, start: number, depth: number): FlowValue {
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
function toKey(value: unknown): string {
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
function resolveScalar(text: string): unknown {
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

function skipBlanks(text: string, start: number): number {
  let position = start;
  while (isBlank(text[position])) position += 1;
  return position;
}

/** Unlike `trim()`, removes spaces and tabs only, as YAML does. */
function trimBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text[end - 1])) end -= 1;
  return text.slice(skipBlanks(text, 0), end);
}

/** Removes a comment from the end of a line: `#` after a blank. */
function stripComment(text: string): string {
  const start = text.startsWith("#") ? 0 : text.search(/[ \t]#/);
  return start < 0 ? text : trimBlanks(text.slice(0, start));
}
