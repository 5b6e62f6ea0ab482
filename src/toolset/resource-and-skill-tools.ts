import { SKILLS_EXTENSION } from "../client/skills/skill-info.js";
import type { JsonObject } from "../json/json.js";
import type { ManagedServer } from "../manager/managed-server.js";
import { hasCapability } from "../session/session.js";
import type { ServerTools } from "../tools/create-tools.js";
import { withAddedTools } from "./added-tools.js";
import { createResourceTools } from "./resource-tools.js";
import { createSkillTools } from "./skill-tools.js";

/** Which tools are added to those of servers. */
export interface AddedToolsOptions {
  /** Tools to list and read resources. */
  readonly resources: boolean;
  /** Tools to list and read skills. */
  readonly skills: boolean;
}

/** Adds tools to those of the servers that have announced what the tools need. */
export class ResourceAndSkillTools {
  readonly #options: AddedToolsOptions;
  /** The last known capabilities of each server, for the time when it has no session. */
  readonly #capabilities = new WeakMap<ManagedServer, JsonObject>();

  constructor(options: AddedToolsOptions) {
    this.#options = options;
  }

  /** What is added for a server now. */
  for(server: ManagedServer): AddedToolsOptions {
    const capabilities = server.client.capabilities ?? this.#capabilities.get(server) ?? {};
    this.#capabilities.set(server, capabilities);
    return {
      resources: this.#options.resources && hasCapability(capabilities, "resources"),
      skills: this.#options.skills && hasCapability(capabilities, SKILLS_EXTENSION),
    };
  }

  addTo(serverTools: ServerTools, server: ManagedServer): ServerTools {
    const { resources, skills } = this.for(server);
    const tools = [
      ...(resources ? createResourceTools(server.client) : []),
      ...(skills ? createSkillTools(server.skills) : []),
    ];
    return withAddedTools(serverTools, tools, () => server.assertEnabled());
  }
}
