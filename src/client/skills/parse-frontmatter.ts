import { describeThrown } from "../../errors/sanitize-text.js";
import type { JsonObject } from "../../json/json.js";
import { MAX_FRONTMATTER_CHARS } from "./skill-info.js";
import {
  MAX_YAML_DEPTH,
  readFlowValue,
  resolveScalar,
  skipBlanks,
  stripComment,
  toKey,
  trimBlanks,
} from "./yaml-values.js";

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
