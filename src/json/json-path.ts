/** Every item of an array: `[*]`. */
export const WILDCARD = Symbol("[*]");

/** A name, an index, or every item. */
type PathSegment = string | number | typeof WILDCARD;
export type JsonPath = readonly PathSegment[];

/** The supported syntax, for error messages. */
export const SUPPORTED_PATHS = `$.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row`;

/** Bounds the work of following a path and of creating what is missing on it. */
const MAX_SEGMENTS = 64;

const SEGMENT =
  /^(?:\.(?<name>[^.[\]'"*?(),:\s]+)|\[\s*(?:'(?<single>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|(?<index>0|[1-9]\d{0,3})|(?<every>\*))\s*\])/s;

/**
 * Parses a subset of JSONPath: dots, quoted names, indexes and `[*]`; the leading `$` is optional. Returns
 * `undefined` for filters, slices and searches.
 */
export function parseJsonPath(text: string): JsonPath | undefined {
  if (text === "") return undefined;
  const path: PathSegment[] = [];
  let rest = normalizeRoot(text);
  while (rest !== "") {
    const match = SEGMENT.exec(rest);
    if (match?.groups === undefined || path.length === MAX_SEGMENTS) return undefined;
    path.push(toSegment(match.groups));
    rest = rest.slice(match[0].length);
  }
  return path;
}

/** Afterwards every segment, including the first, starts with a dot or a bracket. */
function normalizeRoot(text: string): string {
  if (text.startsWith("$")) return text.slice(1);
  return text.startsWith("[") ? text : `.${text}`;
}

function toSegment(groups: Readonly<Record<string, string | undefined>>): PathSegment {
  const { name, single, double, index, every } = groups;
  if (every !== undefined) return WILDCARD;
  if (index !== undefined) return Number(index);
  return name ?? unquote(single ?? double ?? "");
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unquote(quoted: string): string {
  return quoted.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
