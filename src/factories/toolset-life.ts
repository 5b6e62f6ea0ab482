import { Cancellation } from "../concurrency/cancellation.js";
import type { McpClientOptions } from "../client/assemble-client.js";
import { McpClient } from "../client/mcp-client.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import { publicAddress } from "../definitions/public-address.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolCaller } from "../tools/tool-parts.js";
import type { CatalogueSettings } from "./catalogue-options.js";
import { createMember, type Member } from "./member.js";

interface ToolsetLifeOptions {
  readonly client: McpClientOptions;
  readonly catalogue: CatalogueSettings;
}

/** The clients of one toolset: made together, closed together, in reverse. */
export class ToolsetLife {
  readonly #members = new Map<string, Member>();
  readonly #options: ToolsetLifeOptions;
  readonly #closed = new Cancellation();
  #closing: Promise<void> | undefined;

  constructor(options: ToolsetLifeOptions) {
    this.#options = options;
  }

  get members(): ReadonlyMap<string, Member> {
    return this.#members;
  }

  get clients(): ReadonlyMap<string, McpClient> {
    return new Map([...this.#members].map(([name, { client }]) => [name, client]));
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  add(name: string, definition: ServerDefinition): Member {
    const client = new McpClient({ name, ...definition }, this.#options.client);
    const member = createMember(client, publicAddress(name, definition), this.#options.catalogue);
    this.#members.set(name, member);
    return member;
  }

  /** Calls through a client, for as long as the toolset is open. A client alone could be used again. */
  callerOf({ client, pins }: Member): ToolCaller {
    return {
      closed: this.#closed,
      callTool: async (call, options) => {
        pins?.throwIfBlocked(call.name);
        return client.callTool(call, options);
      },
    };
  }

  /** Past errors: one client that cannot be closed keeps no other open. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    this.#closed.cancel(new McpRuntimeError("closed", "The toolset was closed."));
    const members = [...this.#members.values()].toReversed();
    for (const { catalogue } of members) catalogue.close();
    const results = await Promise.allSettled(members.map(({ client }) => client.close()));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
