import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { ParseError } from "jsonc-parser";
import type { CancelScope } from "../../async/cancel-scope.js";
import { errorCode } from "../../errors/failure-kinds.js";
import { printValue } from "../../errors/sanitize-text.js";
import type { ConfigProblem } from "./config-options.js";

const MEBIBYTE = 1024 * 1024;
/** Large, because some clients keep all their state in the file that lists their servers. */
const MAX_FILE_BYTES = 16 * MEBIBYTE;
/** Smaller, because project files may be written by others. */
export const MAX_FOREIGN_FILE_BYTES = MEBIBYTE;
const CHUNK_BYTES = 64 * 1024;

/** Opening a pipe must not block. Windows does not have `O_NONBLOCK`. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The content of a config file. */
interface ReadConfig {
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
  text(file: string, maxBytes = MAX_FOREIGN_FILE_BYTES): Promise<string | ConfigProblem> {
    // Reading from an unreachable network drive may hang, so the wait is cancelable.
    return this.#scope.race(readTextFile(file, maxBytes, this.#openFile));
  }

  async #readAndParse(file: string, maxBytes: number): Promise<ReadConfig | ConfigProblem> {
    const text = await this.text(file, maxBytes);
    return typeof text === "string" ? parseText(text, file) : text;
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

/**
 * Reads a file as text. The path may lead to anything. Links are followed: settings are often kept
 * elsewhere.
 */
async function readTextFile(
  path: string,
  maxBytes: number,
  openFile: OpenFileFunction,
): Promise<string | ConfigProblem> {
  try {
    const file = await openFile(path);
    try {
      return await readContent(file, path, maxBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = printValue(errorCode(error));
    if (code === "ENOENT" || code === "ENOTDIR")
      return { kind: "missing-file", file: path, message: "The file does not exist. Check its path." };
    return unreadable(path, PROBLEM_BY_ERROR_CODE[code] ?? `cannot be read (${code})`);
  }
}

const PROBLEM_BY_ERROR_CODE: Readonly<Record<string, string>> = {
  EACCES: "is not readable: check its permissions",
  EPERM: "is not readable: check its permissions",
  ELOOP: "is a symbolic link loop",
  EISDIR: "is a folder",
};

async function readContent(file: OpenFile, path: string, maxBytes: number): Promise<string | ConfigProblem> {
  const stats = await file.stat();
  if (stats.isDirectory()) return unreadable(path, "is a folder");
  if (!stats.isFile()) return unreadable(path, "is not a regular file but a pipe, a socket or a device");
  const chunks: Uint8Array[] = [];
  // Do not rely on the size of the file: it may grow, and some file systems report none.
  for (let total = 0; total <= maxBytes;) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
    if (bytesRead === 0) return decode(Buffer.concat(chunks));
    chunks.push(chunk.subarray(0, bytesRead));
    total += bytesRead;
  }
  return unreadable(path, `is larger than ${maxBytes / MEBIBYTE} MiB, the limit for config files`);
}

/** Decodes UTF-8 or UTF-16, which older Windows shells write, without the byte order mark. */
function decode(bytes: Buffer): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
}

/** `problem` continues the sentence "The file …". */
function unreadable(file: string, problem: string): ConfigProblem {
  return { kind: "unreadable", file, message: `The file ${problem}.` };
}

/** Longer files were generated, not written by hand, and the lenient parser is slow. */
const MAX_LENIENT_LENGTH = MEBIBYTE;

/** Parses JSON, with comments and trailing commas. Errors do not quote the text: it may contain secrets. */
async function parseText(text: string, file: string): Promise<ReadConfig | ConfigProblem> {
  try {
    // Much faster, and most files are plain JSON.
    return { text, value: JSON.parse(text) };
  } catch {
    return text.length > MAX_LENIENT_LENGTH ? invalidJson(file, "") : parseJsonc(text, file);
  }
}

async function parseJsonc(text: string, file: string): Promise<ReadConfig | ConfigProblem> {
  const { getNodeValue, parseTree, printParseErrorCode } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  try {
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    // `getNodeValue` creates objects without a prototype, so `__proto__` is an ordinary key.
    if (first === undefined && tree !== undefined) return { text, value: getNodeValue(tree) };
    const reason = first === undefined ? "it is empty" : describeParseError(printParseErrorCode(first.error));
    return { ...invalidJson(file, `: ${reason}`), ...toLineColumn(text, first?.offset ?? 0) };
  } catch (error) {
    // The parser is recursive and may overflow the stack.
    if (error instanceof RangeError) return invalidJson(file, ": it is nested too deeply");
    throw error;
  }
}

function invalidJson(file: string, reason: string): ConfigProblem {
  const message = `The file is not valid JSON${reason}. Comments and trailing commas are allowed.`;
  return { kind: "broken-json", file, message };
}

/** `CommaExpected` -> `comma expected`. */
function describeParseError(code: string): string {
  return code.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** Line and column, starting at 1. */
type SourceLocation = Required<Pick<ConfigProblem, "line" | "column">>;

type Locate = (path: readonly PropertyKey[]) => SourceLocation | undefined;

/** Returns a function that finds a value in a JSON text, or its nearest existing parent. */
export async function createLocator(text: string): Promise<Locate> {
  const { findNodeAtLocation, parseTree } = await import("jsonc-parser");
  let tree: ReturnType<typeof parseTree>;
  try {
    if (text.length <= MAX_LENIENT_LENGTH) tree = parseTree(text, [], { allowTrailingComma: true });
  } catch {
    // Too deeply nested for the parser: no locations.
  }
  const locate: Locate = (path) => {
    if (tree === undefined || path.length === 0) return undefined;
    const segments = path.map((key) => (typeof key === "number" ? key : String(key)));
    const node = findNodeAtLocation(tree, segments);
    const target = node?.parent?.type === "property" ? node.parent : node;
    return target === undefined ? locate(path.slice(0, -1)) : toLineColumn(text, target.offset);
  };
  return locate;
}

function toLineColumn(text: string, offset: number): SourceLocation {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
