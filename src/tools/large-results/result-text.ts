import { setImmediate } from "node:timers/promises";
import type { CancelScope } from "../../async/cancel-scope.js";
import { LinearPatterns } from "../../json-schema/linear-pattern.js";
import { StepBudget, StepLimitError } from "../../json-schema/step-budget.js";
import { getAllAtPath, getAtPath, type JsonPath, parseJsonPath, WILDCARD } from "../../json/json-path.js";
import { tryParseJson } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { joinNames, takeStart } from "../../errors/sanitize-text.js";
import { TOOLSET_SERVER } from "../tool-names.js";

/** The tool that reads results, in errors. */
export const READER = { server: TOOLSET_SERVER, tool: "read_result" } as const;

/** The error of an argument that the model can correct. */
export function argumentError(path: string, message: string): McpRuntimeError {
  const issues = [{ path, message }];
  return new McpRuntimeError("invalid-request", `${path}: ${message}.`, { ...READER, issues });
}

interface LineRange {
  /** The first line, counted from 1. @default 1 */
  readonly from?: number | undefined;
  /** The last line. @default the last one of the text */
  readonly to?: number | undefined;
}

/** Longer lines are split into several, so that each can be read. */
const MAX_LINE_CHARS = 1_000;
/** About one second. */
const MAX_SEARCH_STEPS = 10_000_000;
/** After this many steps, other work of the process runs. */
const STEPS_PER_TURN = 100_000;
const MAX_INDEX = 99_999_999;
const MAX_SHOWN_KEYS = 50;

/** The text of a large result: its lines, and its JSON if it has any. Everything that is returned is limited. */
export class ResultText {
  readonly #texts: readonly string[];
  readonly #lines: readonly string[];
  readonly #maxChars: number;

  /** @param maxChars the maximum number of characters of the text that one read returns */
  constructor(texts: readonly string[], maxChars: number) {
    this.#texts = texts;
    this.#maxChars = maxChars;
    const lineChars = Math.min(MAX_LINE_CHARS, maxChars);
    this.#lines = texts.flatMap((text) => text.split(/\r?\n/)).flatMap((line) => splitLine(line, lineChars));
  }

  get lineCount(): number {
    return this.#lines.length;
  }

  /** The start and the end of the text, in a proportion of three to one. */
  preview(maxChars: number): string {
    const tailChars = Math.floor(maxChars / 4);
    const head = takeLines(this.#lines, maxChars - tailChars);
    const tail = takeLines(this.#lines.slice(head.length).toReversed(), tailChars, takeEnd).toReversed();
    return [...head, "[…]", ...tail].join("\n");
  }

  readLines(range: LineRange): string {
    const { first, lines } = this.#select(range);
    const shown = takeLines(lines, this.#maxChars);
    const last = first + shown.length - 1;
    const header = `[Lines ${first} to ${last} of ${this.lineCount}]`;
    const isAll = shown.length === lines.length;
    return [header, ...shown, ...(isAll ? [] : [`[… continue with from: ${last + 1}]`])].join("\n");
  }

  /** Returns the lines that a pattern matches, with their numbers. The pattern runs in linear time. */
  async search(pattern: string, range: LineRange, cancellation: CancelScope): Promise<string> {
    const { first, lines } = this.#select(range);
    const patterns = new LinearPatterns("run");
    const problem = patterns.add(pattern);
    const compiled = patterns.get(pattern);
    if (problem !== undefined || compiled === undefined)
      throw argumentError("grep", `the pattern ${problem ?? "cannot be used"}`);
    const steps = new StepBudget(MAX_SEARCH_STEPS);
    const matches: string[] = [];
    let turn = 0;
    try {
      for (const [index, line] of lines.entries()) {
        if (compiled.test(line, steps)) matches.push(`${first + index}: ${line}`);
        if (steps.used < turn + STEPS_PER_TURN) continue;
        turn = steps.used;
        await setImmediate();
        cancellation.throwIfCancelled();
      }
    } catch (error) {
      if (!(error instanceof StepLimitError)) throw error;
      throw argumentError("grep", "the search takes too long. Use a simpler pattern, or from and to");
    }
    if (matches.length === 0) return `[No match in lines ${first} to ${first + lines.length - 1}]`;
    const shown = takeLines(matches, this.#maxChars);
    const header = `[${shown.length} of ${matches.length} matching lines]`;
    const next = matches[shown.length]?.split(":", 1)[0];
    return [header, ...shown, ...(next === undefined ? [] : [`[… continue with from: ${next}]`])].join("\n");
  }

  /** Returns the values at a path as JSON. */
  readPath(text: string): string {
    const path = parseJsonPath(text, MAX_INDEX);
    if (path === undefined)
      throw argumentError("jsonPath", "expected a path such as $.items[0].name or $.items[*].name");
    const json = this.#findJson();
    if (json === undefined)
      throw argumentError("jsonPath", "the result is not JSON. Use from and to, or grep");
    if (path.includes(WILDCARD))
      return this.#formatValues(getAllAtPath(json, path), describeMissing(json, path));
    const value = getAtPath(json, path);
    if (value === undefined) throw argumentError("jsonPath", describeMissing(json, path));
    const line = JSON.stringify(value);
    if (line.length <= this.#maxChars) return line;
    const omitted = `[… ${line.length - this.#maxChars} of ${line.length} characters omitted. It is ${describeJson(value)}: use a longer path]`;
    return `${takeStart(line, this.#maxChars)}\n${omitted}`;
  }

  #formatValues(values: readonly unknown[], missing: string): string {
    if (values.length === 0) throw argumentError("jsonPath", missing);
    // Each takes a character at least.
    const lines = values.slice(0, this.#maxChars).map((value) => JSON.stringify(value) ?? "null");
    const shown = takeLines(lines, this.#maxChars);
    const rest = "The others have to be read by index, or with a longer path";
    const header = `[${shown.length} of ${values.length} values${shown.length < values.length ? `. ${rest}` : ""}]`;
    return [header, ...shown].join("\n");
  }

  #findJson(): object | undefined {
    for (const text of this.#texts) {
      const value = tryParseJson(text);
      if (typeof value === "object" && value !== null) return value;
    }
    return undefined;
  }

  #select({ from = 1, to = this.lineCount }: LineRange) {
    for (const [argument, line] of Object.entries({ from, to }))
      if (!Number.isSafeInteger(line) || line < 1)
        throw argumentError(argument, "expected a whole number above 0");
    if (from > this.lineCount)
      throw argumentError("from", `the result has ${this.lineCount} lines, got ${from}`);
    if (to < from) throw argumentError("to", `expected a line from ${from} on, got ${to}`);
    return { first: from, lines: this.#lines.slice(from - 1, to) };
  }
}

/** As many lines as fit, at least one; if that one does not fit, its start or its end. */
function takeLines(lines: readonly string[], maxChars: number, shorten = takeStart): string[] {
  let chars = 0;
  const end = lines.findIndex((line) => (chars += line.length + 1) > maxChars + 1);
  if (end !== 0) return lines.slice(0, end === -1 ? lines.length : end);
  return lines.slice(0, 1).map((line) => shorten(line, maxChars));
}

function takeEnd(text: string, maxChars: number): string {
  return text.slice(Math.max(0, text.length - maxChars)).replace(/^[\udc00-\udfff]/, "");
}

/** Splits a line after a separator, if one is in the second half of the limit. */
function splitLine(line: string, maxChars: number): readonly string[] {
  if (line.length <= maxChars) return [line];
  const pieces: string[] = [];
  let start = 0;
  while (line.length - start > maxChars) {
    const end = findSplit(line, start, start + maxChars);
    pieces.push(line.slice(start, end));
    start = end;
  }
  return [...pieces, line.slice(start)];
}

const SEPARATOR = /[\s,;}\]>)]/;

function findSplit(line: string, start: number, end: number): number {
  for (let index = end; index > (start + end) / 2; index -= 1)
    if (SEPARATOR.test(line[index - 1] ?? "")) return index;
  const isPair = end - start > 1 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(line.slice(end - 1, end + 1));
  return isPair ? end - 1 : end;
}

/** Describes the last existing value on the path. */
function describeMissing(json: object, path: JsonPath): string {
  const found = path.findIndex((_, index) => getAtPath(json, path.slice(0, index + 1)) === undefined);
  const parent = getAtPath(json, path.slice(0, Math.max(0, found)));
  const segments = path.slice(0, Math.max(0, found)).map((segment) => {
    if (segment === WILDCARD) return "[0]";
    return typeof segment === "number" ? `[${segment}]` : `['${segment}']`;
  });
  return `there is nothing at this path. $${segments.join("")} is ${describeJson(parent)}`;
}

function describeJson(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length} items`;
  if (typeof value !== "object" || value === null) return value === null ? "null" : `a ${typeof value}`;
  const keys = Object.keys(value);
  const names = keys.map((key) => key.slice(0, MAX_KEY_CHARS));
  return keys.length === 0
    ? "an empty object"
    : `an object with the keys ${joinNames(names, MAX_SHOWN_KEYS)}`;
}

const MAX_KEY_CHARS = 60;
