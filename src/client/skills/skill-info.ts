import { optionalObject, type ParsedInfo } from "../../config/server-features.js";
import { sanitizeText, stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { isLargerThan } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject, omitUndefined, toObject } from "../../json/json.js";

/** A file of a skill, as its server describes it. */
export interface McpSkillFileInfo {
  /** The path below the folder of the skill, decoded: `references/forms.md`. */
  readonly path: string;
  /** The URI of the resource. */
  readonly uri: string;
  /** The size in bytes. */
  readonly size: number;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** A skill as its server describes it, without its contents. Written by the server, so it is untrusted. */
export interface McpSkillInfo {
  /** The URI of its `SKILL.md`, which identifies the skill on its server. */
  readonly uri: string;
  /** The name, which several skills of a server may share. Lowercase letters, digits and hyphens. */
  readonly name: string;
  /** What the skill is for, at most 1,024 characters, without hidden characters. */
  readonly description: string;
  /** The frontmatter of `SKILL.md`, as the server sent it. Grant no permissions because of it (`allowed-tools`). */
  readonly frontmatter: JsonObject;
  /** All files, including `SKILL.md`, or `"dynamic"` if the server generates them: these cannot be verified or pinned. */
  readonly files: readonly McpSkillFileInfo[] | "dynamic";
  /** `_meta` of the skill, as sent. */
  readonly meta?: JsonObject | undefined;
}

/** The identifier of the extension in the capabilities of a server. */
export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
export const SKILL_FILE = "SKILL.md";
/** The largest skills that all clients have to support. Larger ones are not used. */
const MAX_FILES = 512;
export const MAX_SKILL_BYTES = 16 * 1024 * 1024;
const MAX_DESCRIPTION_CHARS = 1_024;
const MAX_NAME_CHARS = 64;
/** Models see the URIs of all skills and the paths of their files: a long one would leave no room for the others. */
const MAX_URI_CHARS = 2_048;
/** Of `SKILL.md`, and of the same fields in a list. */
export const MAX_FRONTMATTER_CHARS = 65_536;

const NAME_PATTERN = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const DIGEST_PATTERN = /^sha256:[0-9a-f]{64}$/;

/** Strict: a skill with an invalid field is a problem, because its contents are verified against these fields. */
export function parseSkillInfo(value: unknown): ParsedInfo<McpSkillInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { uri, frontmatter, resources, _meta: meta } = value;
  const root = typeof uri === "string" ? findSkillRoot(uri) : undefined;
  if (typeof uri !== "string" || root === undefined)
    return { problem: `has no uri that ends with /${SKILL_FILE}, of at most ${MAX_URI_CHARS} characters` };
  if (!isPlainObject(frontmatter)) return { problem: "has no frontmatter" };
  if (isLargerThan(frontmatter, MAX_FRONTMATTER_CHARS))
    return { problem: `has frontmatter of more than ${MAX_FRONTMATTER_CHARS} characters` };
  const { name, description } = frontmatter;
  const isNameValid = typeof name === "string" && name.length <= MAX_NAME_CHARS && NAME_PATTERN.test(name);
  if (!isNameValid || !root.endsWith(`/${name}`))
    return { problem: "has no valid name that is also the last part of its folder" };
  if (typeof description !== "string" || description.trim() === "") return { problem: "has no description" };
  const files = parseFiles(resources, root);
  if (typeof files === "object" && "problem" in files) return files;
  const text = sanitizeText(description, MAX_DESCRIPTION_CHARS);
  return {
    item: {
      uri,
      name,
      description: text,
      frontmatter,
      files,
      ...omitUndefined({ meta: optionalObject(meta) }),
    },
  };
}

function parseFiles(resources: unknown, root: string): McpSkillInfo["files"] | { readonly problem: string } {
  if (resources === "dynamic") return resources;
  if (!Array.isArray(resources)) return { problem: "has no list of its files" };
  if (resources.length > MAX_FILES) return { problem: `has more than ${MAX_FILES} files` };
  const files = new Map<string, McpSkillFileInfo>();
  let bytes = 0;
  for (const resource of resources) {
    const { uri, size, digest } = toObject(resource);
    const path = typeof uri === "string" ? toSkillPath(root, uri) : undefined;
    if (typeof uri !== "string" || path === undefined)
      return { problem: "lists a file that is not in its folder" };
    const isSizeValid = typeof size === "number" && Number.isSafeInteger(size) && size >= 0;
    if (!isSizeValid || typeof digest !== "string" || !DIGEST_PATTERN.test(digest))
      return { problem: "lists a file without a valid size and digest" };
    if (files.has(path)) return { problem: "lists a file twice" };
    bytes += size;
    files.set(path, { path, uri, size, digest });
  }
  if (!files.has(SKILL_FILE)) return { problem: `does not list its ${SKILL_FILE}` };
  if (bytes > MAX_SKILL_BYTES) return { problem: `has files of more than ${MAX_SKILL_BYTES} bytes` };
  return [...files.values()];
}

/** The normalized URI of a skill's folder, without a slash at its end. `undefined` if it is not the URI of a `SKILL.md`. */
export function findSkillRoot(uri: string): string | undefined {
  // URIs are ASCII and shown to models: hidden characters would be an attempt to deceive.
  const isReadable = uri.length <= MAX_URI_CHARS && stripHiddenCharacters(uri) === uri && !/\s/.test(uri);
  const normalized = isReadable ? normalizeUri(uri) : undefined;
  const suffix = `/${SKILL_FILE}`;
  return normalized?.endsWith(suffix) === true ? normalized.slice(0, -suffix.length) : undefined;
}

const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** The decoded path of a file below `root`; `undefined` for a URI that is not below it, or has names that are not file names. */
export function toSkillPath(root: string, uri: string): string | undefined {
  const isReadable = uri.length <= MAX_URI_CHARS && !DOT_SEGMENT.test(uri);
  const normalized = isReadable ? normalizeUri(uri) : undefined;
  const isInside = normalized?.startsWith(`${root}/`) === true && !/[?#]/.test(normalized);
  if (normalized === undefined || !isInside) return undefined;
  try {
    const names = normalized
      .slice(root.length + 1)
      .split("/")
      .map(decodeURIComponent);
    return names.every(isFileName) ? names.join("/") : undefined;
  } catch {
    // Not UTF-8.
    return undefined;
  }
}

/** A folder that relative paths are resolved in: above the root of a URI, `..` would be ignored. */
const REFERENCE_ROOT = "skill://reference/root";

/** The decoded path of a file that a model or an application names by a path or a URI; `undefined` if it is not below `root`. */
export function resolveSkillPath(root: string, file: string): string | undefined {
  const base = URL.canParse(file) ? root : REFERENCE_ROOT;
  if (!URL.canParse(file, `${base}/`)) return undefined;
  const resolved = new URL(file, `${base}/`);
  resolved.hash = "";
  return toSkillPath(base, resolved.href);
}

/** The one spelling of a URI that comparisons use. */
export function normalizeUri(uri: string): string | undefined {
  return URL.canParse(uri) ? new URL(uri).href : undefined;
}

function isFileName(name: string): boolean {
  const isPlain = !/[/\\\p{Cc}]/u.test(name) && stripHiddenCharacters(name) === name;
  return isPlain && name !== "" && name !== "." && name !== "..";
}
