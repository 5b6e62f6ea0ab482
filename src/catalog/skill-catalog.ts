import type { RequestOptions } from "../client/call-options.js";
import type { McpClient } from "../client/mcp-client.js";
import type { McpSkillFile, ReadSkillOptions } from "../client/skills/skill-client.js";
import { type McpSkillInfo, normalizeUri, SKILL_FILE } from "../client/skills/skill-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { appendSentence } from "../errors/sanitize-text.js";
import { fullHash } from "../json-schema/schema-hash.js";
import type { Pins, PinSubject } from "./tool-pins.js";

/** The metadata of a skill, and the digests of all of its files. */
export const SKILL_PINS: PinSubject<McpSkillInfo> = {
  noun: "skill",
  keyPrefix: "skill-pins/1",
  approveWith: "toolset.approveSkills()",
  fields: { description: "frontmatter", schema: "files", annotations: "" },
  // Another spelling of the URI must not make a changed skill a new one.
  idOf: toPinId,
  toPin: ({ uri, frontmatter, files }) => ({
    description: fullHash({ uri: toPinId({ uri }), frontmatter }),
    schema: fullHash(files === "dynamic" ? files : toDigests(files)),
    annotations: null,
  }),
};

function toPinId({ uri }: Pick<McpSkillInfo, "uri">): string {
  return normalizeUri(uri) ?? uri;
}

function toDigests(files: Exclude<McpSkillInfo["files"], "dynamic">): string[] {
  return files.map(({ path, digest }) => `${digest} ${path}`).toSorted();
}

interface SkillCatalogOptions {
  /** Set if changes of skills are detected (option `pin`). */
  readonly pins?: Pins<McpSkillInfo> | undefined;
  /** Throws while the server must not be used. */
  readonly assertEnabled?: (() => void) | undefined;
}

/** How many loaded skills are remembered, for all conversations together. */
const MAX_LOADED = 256;

/**
 * The skills of one server, as applications and models may use them: without those that are blocked. After a skill was
 * loaded, its other files are read in the same version, for the same caller and conversation.
 */
export class SkillCatalog {
  readonly #client: McpClient;
  readonly #options: SkillCatalogOptions;
  /** The loaded skills by conversation and URI, the least recently loaded first. */
  readonly #loaded = new Map<string, { readonly conversation: string; readonly skill: McpSkillInfo }>();

  constructor(client: McpClient, options: SkillCatalogOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  /** The name of the server. */
  get server(): string {
    return this.#client.name;
  }

  async list(caller: RequestOptions): Promise<McpSkillInfo[]> {
    const skills = await this.#listAll(caller);
    await this.#options.pins?.check(skills, this.#client.identityOf(caller));
    return skills.filter((skill) => this.#findDenial(skill) === undefined);
  }

  /** Approves the current skills, if changes are detected. No file is read. */
  async approve(caller: RequestOptions): Promise<void> {
    await this.#options.pins?.approve(await this.#listAll(caller));
  }

  /** Reads a file of a skill, which is named by its name or URI. */
  async read(name: string, { file = SKILL_FILE, ...caller }: ReadSkillOptions): Promise<McpSkillFile> {
    this.#options.assertEnabled?.();
    const conversation = this.#toConversation(caller);
    const loaded = file === SKILL_FILE ? undefined : this.#findLoaded(conversation, name);
    const skill = loaded ?? (await this.#get(name, caller));
    const denial = this.#findDenial(skill);
    if (denial !== undefined) throw denial;
    try {
      const read = await this.#client.readSkill(skill, { ...caller, file });
      if (read.path === SKILL_FILE) this.#addLoaded(conversation, skill);
      return read;
    } catch (error) {
      throw loaded === undefined ? error : withReloadHint(error);
    }
  }

  async #listAll(caller: RequestOptions): Promise<McpSkillInfo[]> {
    this.#options.assertEnabled?.();
    return this.#client.listSkills(caller);
  }

  async #get(name: string, caller: RequestOptions): Promise<McpSkillInfo> {
    const skill = await this.#client.getSkill(name, caller);
    await this.#options.pins?.check([skill], this.#client.identityOf(caller));
    return skill;
  }

  /** Why a skill must not be used: it was not approved, or it is unknown whether it was. */
  #findDenial({ uri, files }: McpSkillInfo): McpRuntimeError | undefined {
    const { pins } = this.#options;
    if (pins?.mode === "block" && files === "dynamic") {
      const text = `Skill "${uri}" of server "${this.server}" is blocked: its files are dynamic, so a change cannot be detected.`;
      return new McpRuntimeError("denied", text, { server: this.server });
    }
    try {
      pins?.assertNotBlocked(toPinId({ uri }));
      return undefined;
    } catch (error) {
      return error as McpRuntimeError;
    }
  }

  #toConversation(caller: RequestOptions): string {
    const thread = caller.context?.configurable?.["thread_id"] ?? null;
    return JSON.stringify([this.#client.identityOf(caller), thread]);
  }

  #findLoaded(conversation: string, name: string): McpSkillInfo | undefined {
    const matches = [...this.#loaded.values()].filter(
      (loaded) =>
        loaded.conversation === conversation && [loaded.skill.uri, loaded.skill.name].includes(name),
    );
    return matches.length === 1 ? matches[0]?.skill : undefined;
  }

  #addLoaded(conversation: string, skill: McpSkillInfo): void {
    const key = JSON.stringify([conversation, skill.uri]);
    this.#loaded.delete(key);
    this.#loaded.set(key, { conversation, skill });
    const [oldest] = this.#loaded.keys();
    if (this.#loaded.size > MAX_LOADED && oldest !== undefined) this.#loaded.delete(oldest);
  }
}

/** The server may have changed the skill since it was loaded. */
function withReloadHint(error: unknown): unknown {
  const isOutdated =
    error instanceof McpRuntimeError && (error.kind === "invalid-response" || error.kind === "not-found");
  const hint = `If the skill has changed, read its ${SKILL_FILE} again.`;
  return isOutdated ? error.with({ message: appendSentence(error.message, hint) }) : error;
}
