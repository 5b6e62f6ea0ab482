import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { optionKeys } from "../../config/parse-options.js";
import { suggestMatch } from "../../errors/find-closest-match.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { describeThrown, excerpt, stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject, toObject } from "../../json/json.js";
import { assertRequestOptions, REQUEST_KEYS, type RequestOptions } from "../call-options.js";
import { LIST_KINDS, listOrEmpty } from "../list-reader.js";
import type { RequestDependencies } from "../request-runner.js";
import { type McpResourceContent, readResource } from "../resource-client.js";
import { parseSkillDocument } from "./parse-frontmatter.js";
import {
  findSkillRoot,
  MAX_SKILL_BYTES,
  type McpSkillFileInfo,
  type McpSkillInfo,
  normalizeUri,
  parseSkillInfo,
  resolveSkillPath,
  SKILL_FILE,
  SKILLS_EXTENSION,
  toSkillPath,
} from "./skill-info.js";

/** Options of `readSkill`. */
export interface ReadSkillOptions extends RequestOptions {
  /** The file to read: a path below the folder of the skill, or its URI. @default "SKILL.md" */
  readonly file?: string | undefined;
}

/** A file of a skill that was read and verified. Written by the server, so it is untrusted. */
export interface McpSkillFile {
  /** The skill that the file belongs to, and that it was verified against. */
  readonly skill: McpSkillInfo;
  /** The path below the folder of the skill. */
  readonly path: string;
  /** The URI that was read. */
  readonly uri: string;
  /** The media type, if the server sent one. */
  readonly mimeType?: string | undefined;
  /** The text as received. `undefined` if the server sent binary content. */
  readonly text?: string | undefined;
  /** Binary content in base64. `undefined` if the server sent text. */
  readonly blob?: string | undefined;
  /** Of `SKILL.md`: the instructions after the frontmatter, without hidden characters. */
  readonly body?: string | undefined;
  /** Whether size and SHA-256 are those that the server has listed. False for a skill with `"dynamic"` files. */
  readonly isVerified: boolean;
}

const READ_SKILL_OPTIONS = optionKeys<ReadSkillOptions>({ ...REQUEST_KEYS, file: true });

/** Finds the skills of one server (SEP-2640), and reads and verifies their files. */
export class SkillClient {
  readonly #deps: RequestDependencies;

  constructor(deps: RequestDependencies) {
    this.#deps = deps;
  }

  /** Finds a skill by its name in the list, or by its URI, listed or not. */
  async get(skill: string, options: RequestOptions): Promise<McpSkillInfo> {
    this.#assertText(skill, "the name or the URI of a skill");
    // Names have no colon.
    return skill.includes(":") ? this.#getByUri(skill, options) : this.#findByName(skill, options);
  }

  async read(skill: string | McpSkillInfo, options: ReadSkillOptions): Promise<McpSkillFile> {
    assertRequestOptions(this.#deps.server, options, READ_SKILL_OPTIONS);
    const { file = SKILL_FILE, ...request } = options;
    this.#assertText(file, "the path or the URI of a file");
    const entry = isSkill(skill) ? skill : await this.get(skill, request);
    const target = this.#findFile(entry, file);
    const contents = await readResource(this.#deps, target.uri, request);
    const content = contents.find(({ uri }) => toSkillPath(target.root, uri) === target.path);
    if (content === undefined)
      throw this.#error("invalid-response", `The contents of ${excerpt(target.uri)} belong to other files`);
    return this.#verify(entry, target, content);
  }

  #assertText(value: unknown, what: string): void {
    if (typeof value !== "string" || value === "")
      throw this.#error("invalid-config", `Expected ${what}, got ${describeValue(value)}`);
  }

  async #getByUri(uri: string, options: RequestOptions): Promise<McpSkillInfo> {
    return this.#deps.runner.runOperation(options, async (send) => {
      const details = { isIdempotent: true, capability: SKILLS_EXTENSION };
      const parsed = parseSkillInfo(toObject(await send("skills/get", { uri }, details))["skill"]);
      if ("problem" in parsed)
        throw this.#error("invalid-response", `The skill ${excerpt(uri)} ${parsed.problem}`);
      if (normalizeUri(parsed.item.uri) === normalizeUri(uri)) return parsed.item;
      const text = `The response to skills/get for ${excerpt(uri)} describes another skill`;
      throw this.#error("invalid-response", text);
    });
  }

  async #findByName(name: string, options: RequestOptions): Promise<McpSkillInfo> {
    const skills = await listOrEmpty(this.#deps, LIST_KINDS.skills, options);
    const [skill, another] = skills.filter((candidate) => candidate.name === name);
    if (another !== undefined)
      throw this.#error("invalid-request", `Several skills are named "${name}": use the URI of one of them`);
    if (skill !== undefined) return skill;
    const names = skills.map((candidate) => candidate.name);
    const hint = suggestMatch(name, names, " Use the name or the URI of a listed skill");
    throw this.#error("not-found", `There is no skill "${excerpt(name)}".${hint}`);
  }

  /** Resolves the path or URI of a file. Nothing outside of the skill's folder is requested, and nothing that is not listed. */
  #findFile({ uri, files }: McpSkillInfo, file: string): SkillFileTarget {
    const root = findSkillRoot(uri);
    if (root === undefined)
      throw this.#error("invalid-config", "Expected a skill, as returned by listSkills");
    const path = resolveSkillPath(root, file);
    if (files === "dynamic" && path !== undefined)
      return { root, listed: undefined, path, uri: path === SKILL_FILE ? uri : toFileUri(root, path) };
    const listed = files === "dynamic" ? undefined : findListed(files, file, path);
    if (listed !== undefined) return { root, listed, path: listed.path, uri: listed.uri };
    const where = files === "dynamic" ? "in the folder of" : "listed by";
    throw this.#error("not-found", `The file "${excerpt(file)}" is not ${where} the skill ${excerpt(uri)}`);
  }

  #verify(skill: McpSkillInfo, target: SkillFileTarget, content: McpResourceContent): McpSkillFile {
    const { listed, path, uri } = target;
    const { mimeType, text, blob } = content;
    const bytes = blob === undefined ? Buffer.from(text) : Buffer.from(blob, "base64");
    if (bytes.length > MAX_SKILL_BYTES)
      throw this.#error("too-large", `${excerpt(uri)} has more than ${MAX_SKILL_BYTES} bytes`);
    if (listed !== undefined && bytes.length !== listed.size)
      throw this.#mismatch(uri, `it has ${bytes.length} bytes, but ${listed.size} are listed`);
    if (listed !== undefined && toDigest(bytes) !== listed.digest)
      throw this.#mismatch(uri, "its SHA-256 differs from the listed one");
    const file = {
      skill,
      path,
      uri,
      ...(mimeType === undefined ? {} : { mimeType }),
      isVerified: listed !== undefined,
    };
    // Encoded again: other decoders may read different bytes from what was received.
    if (path !== SKILL_FILE)
      return blob === undefined ? { ...file, text } : { ...file, blob: bytes.toString("base64") };
    const markdown = text ?? decodeUtf8(bytes);
    if (markdown === undefined) throw this.#mismatch(uri, "it is not valid UTF-8");
    return { ...file, text: markdown, body: this.#readBody(skill, markdown) };
  }

  /** The model must read exactly what was listed, and perhaps approved. */
  #readBody({ uri, frontmatter: listed }: McpSkillInfo, markdown: string): string {
    const { frontmatter, body } = this.#parse(uri, markdown);
    const differences = findDifferences(listed, frontmatter);
    if (differences.length > 0)
      throw this.#mismatch(
        uri,
        `its frontmatter differs from the listed one (${excerpt(differences.join(", "))})`,
      );
    return stripHiddenCharacters(body).trim();
  }

  #parse(uri: string, markdown: string) {
    try {
      return parseSkillDocument(markdown);
    } catch (error) {
      throw this.#mismatch(uri, excerpt(describeThrown(error)));
    }
  }

  #mismatch(uri: string, reason: string): McpRuntimeError {
    return this.#error("invalid-response", `${excerpt(uri)} is withheld: ${reason}`);
  }

  #error(kind: McpRuntimeError["kind"], problem: string): McpRuntimeError {
    const { server, redactor } = this.#deps;
    const end = /[.?]$/.test(problem) ? "" : ".";
    return new McpRuntimeError(kind, `Server "${server}": ${redactor.sanitize(problem)}${end}`, { server });
  }
}

/** A file to read. */
interface SkillFileTarget {
  /** The folder of the skill. */
  readonly root: string;
  readonly path: string;
  readonly uri: string;
  /** `undefined` for a skill with dynamic files. */
  readonly listed: McpSkillFileInfo | undefined;
}

/** Callers may pass anything; what is not a skill is rejected as a name. */
function isSkill(skill: unknown): skill is McpSkillInfo {
  if (!isPlainObject(skill)) return false;
  const { uri, frontmatter, files } = skill;
  const hasFiles = files === "dynamic" || Array.isArray(files);
  return typeof uri === "string" && isPlainObject(frontmatter) && hasFiles;
}

function toFileUri(root: string, path: string): string {
  return `${root}/${path.split("/").map(encodeURIComponent).join("/")}`;
}

function findListed(
  files: readonly McpSkillFileInfo[],
  file: string,
  path: string | undefined,
): McpSkillFileInfo | undefined {
  return files.find((listed) => listed.path === file) ?? files.find((listed) => listed.path === path);
}

/** The fields that differ. Models see them, so a field with an unusual name is not named. */
function findDifferences(listed: JsonObject, received: JsonObject): string[] {
  const keys = new Set([...Object.keys(listed), ...Object.keys(received)]);
  const different = [...keys].filter((key) => !isDeepStrictEqual(listed[key], received[key]));
  return different.map((key) => (/^[\w-]{1,40}$/.test(key) ? key : "another field"));
}

function toDigest(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
