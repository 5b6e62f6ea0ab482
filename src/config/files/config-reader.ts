import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { ParseError } from "jsonc-parser";
import type { CancelScope } from "../../async/cancel-scope.js";
import type { ConfigProblem } from "./config-source.js";
import { toLineColumn, type SourceLocation } from "./source-locations.js";

const MEBIBYTE = 1024 * 1024;
/** Large, because some clients keep all their state in the file that lists their servers. */
const MAX_FILE_BYTES = 16 * MEBIBYTE;
/** Smaller, because project files may be written by others. */
export const MAX_FOREIGN_FILE_BYTES = MEBIBYTE;
const CHUNK_BYTES = 64 * 1024;

/** Opening a pipe must not block. Windows does not have `O_NONBLOCK`. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The content of a config file. */
export interface ReadConfig {
  readonly text: string;
  readonly value: unknown;
}

/** Reads and parses config files, each only once. */
export class ConfigReader {
  readonly #openFile: OpenFileFunction;
  readonly #scope: CancelScope;
  readonly #cache = new Map<string, Promise<ReadConfig | ConfigProblem>>();

  constructor(openFile: OpenFileFunction, scope: CancelScope) {
    this.#openFile = openFile;
    this.#scope = scope;
  }

  /** Reads and parses a config file, or returns the problem. */
  read(file: string, maxBytes = MAX_FILE_BYTES): Promise<ReadConfig | ConfigProblem> {
    const cached = this.#cache.get(file);
    if (cached !== undefined) return cached;
    const reading = this.#readAndParse(file, maxBytes);
    this.#cache.set(file, reading);
    return reading;
  }

  /** Reads a file as text, or returns the problem. */
  async text(file: string, maxBytes = MAX_FOREIGN_FILE_BYTES): Promise<string | ConfigProblem> {
    // Reading from an unreachable network drive may hang, so the wait is cancelable.
    const result = await this.#scope.race(readTextFile(file, { openFile: this.#openFile, maxBytes }));
    if (result.state === "read") return result.text;
    if (result.state === "missing")
      return { kind: "missing-file", file, message: "The file does not exist. Check its path." };
    return { kind: "unreadable", file, message: `The file ${result.problem}.` };
  }

  async #readAndParse(file: string, maxBytes: number): Promise<ReadConfig | ConfigProblem> {
    const text = await this.text(file, maxBytes);
    if (typeof text !== "string") return text;
    const parsed = await parseText(text);
    if ("value" in parsed) return { text, value: parsed.value };
    const message = `The file ${parsed.problem}. Comments and trailing commas are allowed.`;
    return { kind: "broken-json", file, message, ...parsed.location };
  }
}

/** The part of a `FileHandle` that is used. */
interface OpenFile {
  stat(): Promise<{ isFile(): boolean; isDirectory(): boolean }>;
  read(buffer: Uint8Array, offset: number, length: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

export type OpenFileFunction = (path: string) => Promise<OpenFile>;

export const openForReading: OpenFileFunction = (path) => open(path, READ_FLAGS);

interface ReadFileOptions {
  readonly openFile: OpenFileFunction;
  readonly maxBytes: number;
}

/** `problem` continues the sentence "The file …". */
type ReadFileResult =
  | { readonly state: "read"; readonly text: string }
  | { readonly state: "missing" }
  | { readonly state: "unreadable"; readonly problem: string };

/**
 * Reads a file as text. The path may lead to anything. Links are followed: settings are often kept
 * elsewhere.
 */
async function readTextFile(path: string, { openFile, maxBytes }: ReadFileOptions): Promise<ReadFileResult> {
  try {
    const file = await openFile(path);
    try {
      return await readContent(file, maxBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = String(error instanceof Error ? Reflect.get(error, "code") : undefined);
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "missing" };
    return unreadable(PROBLEM_BY_ERROR_CODE[code] ?? `cannot be read (${code})`);
  }
}

const PROBLEM_BY_ERROR_CODE: Readonly<Record<string, string>> = {
  EACCES: "is not readable: check its permissions",
  EPERM: "is not readable: check its permissions",
  ELOOP: "is a symbolic link loop",
  EISDIR: "is a folder",
};

async function readContent(file: OpenFile, maxBytes: number): Promise<ReadFileResult> {
  const stats = await file.stat();
  if (stats.isDirectory()) return unreadable("is a folder");
  if (!stats.isFile()) return unreadable("is not a regular file but a pipe, a socket or a device");
  const chunks: Uint8Array[] = [];
  // Do not rely on the size of the file: it may grow, and some file systems report none.
  for (let total = 0; total <= maxBytes;) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
    if (bytesRead === 0) return { state: "read", text: decode(Buffer.concat(chunks)) };
    chunks.push(chunk.subarray(0, bytesRead));
    total += bytesRead;
  }
  return unreadable(`is larger than ${maxBytes / MEBIBYTE} MiB, the limit for config files`);
}

/** Decodes UTF-8 or UTF-16, which older Windows shells write, without the byte order mark. */
function decode(bytes: Buffer): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
}

function unreadable(problem: string): ReadFileResult {
  return { state: "unreadable", problem };
}

/** `problem` continues the sentence "The file …". */
type ParseTextResult =
  | { readonly value: unknown }
  | { readonly problem: string; readonly location?: SourceLocation | undefined };

/** Only files written by hand have comments. Longer files were generated, and the lenient parser is slow. */
const MAX_LENIENT_LENGTH = 1024 * 1024;

/** Parses JSON, with comments and trailing commas. Errors do not quote the text: it may contain secrets. */
async function parseText(text: string): Promise<ParseTextResult> {
  try {
    // Much faster, and most files are plain JSON.
    return { value: JSON.parse(text) };
  } catch {
    return text.length > MAX_LENIENT_LENGTH ? { problem: "is not valid JSON" } : parseJsonc(text);
  }
}

async function parseJsonc(text: string): Promise<ParseTextResult> {
  const { getNodeValue, parseTree, printParseErrorCode } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  try {
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    // `getNodeValue` creates objects without a prototype, so `__proto__` is an ordinary key.
    if (first === undefined && tree !== undefined) return { value: getNodeValue(tree) };
    const reason = first === undefined ? "it is empty" : describeParseError(printParseErrorCode(first.error));
    return { problem: `is not valid JSON: ${reason}`, location: toLineColumn(text, first?.offset ?? 0) };
  } catch (error) {
    // The parser is recursive and may overflow the stack.
    if (error instanceof RangeError) return { problem: "is not valid JSON: it is nested too deeply" };
    throw error;
  }
}

/** `CommaExpected` -> `comma expected`. */
function describeParseError(code: string): string {
  return code.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
