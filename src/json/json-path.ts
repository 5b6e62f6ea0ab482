/** Every item of a list: `[*]`. */
export const EVERY_ITEM = Symbol("[*]");

/** A name, an index, or every item. */
type PathSegment = string | number | typeof EVERY_ITEM;
export type JsonPath = readonly PathSegment[];

/** What can be read, in words for people. */
export const READABLE_PATHS = `$.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row`;

/** A path is followed, and what is missing on its way is made: both have to end. */
const MAX_SEGMENTS = 64;

const SEGMENT =
  /^(?:\.(?<name>[^.[\]'"*?(),:\s]+)|\[\s*(?:'(?<single>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|(?<index>0|[1-9]\d{0,3})|(?<every>\*))\s*\])/s;

/**
 * The small part of JSONPath that names places: dots, quoted names, indexes and `[*]`; the leading
 * `$` may be missing. What filters, slices or searches is not read: `undefined`.
 */
export function parseJsonPath(text: string): JsonPath | undefined {
  if (text === "") return undefined;
  const path: PathSegment[] = [];
  let rest = withoutRoot(text);
  while (rest !== "") {
    const match = SEGMENT.exec(rest);
    if (match?.groups === undefined || path.length === MAX_SEGMENTS) return undefined;
    path.push(toSegment(match.groups));
    rest = rest.slice(match[0].length);
  }
  return path;
}

/** After this every segment starts with a dot or a bracket, also the first. */
function withoutRoot(text: string): string {
  if (text.startsWith("$")) return text.slice(1);
  return text.startsWith("[") ? text : `.${text}`;
}

function toSegment(groups: Readonly<Record<string, string | undefined>>): PathSegment {
  const { name, single, double, index, every } = groups;
  if (every !== undefined) return EVERY_ITEM;
  if (index !== undefined) return Number(index);
  return name ?? unquote(single ?? double ?? "");
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unquote(quoted: string): string {
  return quoted.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_, code: string | undefined, letter: string) =>
    code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
