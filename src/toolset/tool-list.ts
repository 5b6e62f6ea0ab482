import { schemaHash } from "../json-schema/schema-hash.js";
import type { CallerContext } from "../client/call-options.js";
import { mapLimited } from "../async/map-concurrent.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "../manager/managed-server.js";
import type { ServerFleet } from "../manager/server-set.js";
import {
  type CreateToolsOptions,
  createTools,
  type ToolOffer,
  warnOfUnmetRules,
} from "../tools/create-tools.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { withResourceTools } from "./resource-tools.js";
import { toolOffer } from "./with-server-rules.js";

/** What a server's tools are made of. */
export type OfferDetails = Pick<ToolOffer, "tools" | "metadata" | "refreshesSchema">;

/** Everything that a server lists. */
export function listedOffer(
  server: string,
  listed: readonly McpToolInfo[] | undefined,
): OfferDetails | undefined {
  if (listed === undefined) return undefined;
  const metadata = { slug: server, folder_path: undefined };
  return { tools: listed.map((info) => ({ info })), metadata, refreshesSchema: false };
}

interface LiveToolsParts {
  readonly fleet: ServerFleet;
  readonly create: CreateToolsOptions;
  /** What to make of what a server lists. `undefined`: nothing is known of it yet. */
  readonly offer: (server: string, listed: readonly McpToolInfo[] | undefined) => OfferDetails | undefined;
  /** Whether servers with resources get tools that read them. */
  readonly resourceTools: boolean;
}

/**
 * The tools of all servers as they are known now. When a server comes late, changes its tools or goes,
 * its part is replaced; a tool that is the same stays the same object.
 */
export class LiveTools {
  readonly #parts: LiveToolsParts;
  readonly #create: CreateToolsOptions;
  readonly #listeners = new Set<(event: { readonly server: string }) => void>();
  /** What each server said last: while its session is gone, nobody can ask. */
  readonly #hasResources = new WeakMap<ManagedServer, boolean>();
  #all: McpTool[] = [];
  #shown: McpTool[] = [];

  constructor(parts: LiveToolsParts) {
    const said = new Set<string>();
    const warn = (message: string) => {
      if (said.has(message)) return;
      said.add(message);
      parts.create.warn(message);
    };
    this.#parts = parts;
    this.#create = { ...parts.create, warn };
  }

  /** Also those that are blocked, or whose server is disconnected: a call of them has its own answer. */
  get all(): readonly McpTool[] {
    return this.#all;
  }

  /** Those that are offered. */
  get shown(): McpTool[] {
    return this.#shown;
  }

  /** Makes the tools, and keeps them up to date from now on. Throws when names collide. */
  start(): void {
    const { fleet } = this.#parts;
    this.#build();
    fleet.events.on("toolsChanged", ({ server }) => this.update(server));
    fleet.events.on("serverChanged", ({ server }) => this.update(server));
  }

  onChange(listener: (event: { readonly server: string }) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Something about this server may be different. What cannot be taken in is told, and nothing changes. */
  update(server: string): void {
    const { fleet, create } = this.#parts;
    if (fleet.closed.isCancelled) return;
    const before = this.#shown;
    try {
      this.#build();
    } catch (error) {
      create.warn(`The tools of server "${server}" cannot be taken in, the last ones stay: ${String(error)}`);
    }
    const isUnchanged =
      before.length === this.#shown.length && before.every((tool, n) => tool === this.#shown[n]);
    if (isUnchanged) this.#shown = before;
    else for (const listener of this.#listeners) listener({ server });
  }

  /** What the servers offer to a caller, now. */
  async listFor(context: CallerContext): Promise<McpTool[]> {
    const { fleet } = this.#parts;
    const servers = fleet.all.filter(({ isOff }) => !isOff);
    const offers = await mapLimited(servers, fleet.settings.concurrency, async (server) => {
      const listed = server.isListed ? await this.#listed(server, context) : undefined;
      return this.#offerOf(server, listed);
    });
    return offered(this.#make(offers.flat()), fleet);
  }

  /** What a store gave of an optional server may turn out to be unreadable when it is looked at. */
  #make(offers: readonly ToolOffer[]): McpTool[] {
    try {
      return createTools(offers, this.#create);
    } catch (error) {
      const { server } = error instanceof McpRuntimeError && error.kind === "invalid-response" ? error : {};
      const others = offers.filter((offer) => offer.server !== server);
      const isPardoned = this.#parts.fleet.all.some((one) => one.name === server && one.isOptional);
      if (!isPardoned || others.length === offers.length) throw error;
      this.#create.warn(`Optional server "${server}" is left out: ${String(error)}`);
      return this.#make(others);
    }
  }

  async #listed(server: ManagedServer, context: CallerContext): Promise<readonly McpToolInfo[]> {
    try {
      return await server.member.catalogue.list({ context });
    } catch (error) {
      const isPardoned =
        server.isOptional && error instanceof McpRuntimeError && error.kind !== "invalid-config";
      if (!isPardoned) throw error;
      this.#create.warn(`Optional server "${server.name}" is left out: ${error.message}`);
      return [];
    }
  }

  #build(): void {
    const { fleet } = this.#parts;
    const offers = fleet.all.flatMap((server) => this.#offerOf(server, server.known.tools));
    const known = new Map(this.#all.map((tool) => [tool.name, tool]));
    this.#all = this.#make(offers).map((tool) => {
      const before = known.get(tool.name);
      return before !== undefined && isSame(before, tool) ? before : tool;
    });
    this.#shown = offered(this.#all, fleet);
    const isPending = offers.length < fleet.all.length;
    warnOfUnmetRules(offers, isPending ? { ...this.#create, rules: undefined } : this.#create);
  }

  #offerOf(server: ManagedServer, listed: readonly McpToolInfo[] | undefined): ToolOffer[] {
    const details = this.#parts.offer(server.name, listed);
    const { client, catalogue: view } = server.member;
    if (details === undefined) return [];
    const offer = toolOffer({ ...details, client, view, caller: server.caller });
    if (!this.#parts.resourceTools || !this.#offersResources(server)) return [offer];
    return [withResourceTools(offer, { reader: client, guard: () => server.throwIfOff() })];
  }

  #offersResources(server: ManagedServer): boolean {
    const { capabilities } = server.client;
    if (capabilities !== undefined) this.#hasResources.set(server, capabilities["resources"] !== undefined);
    return this.#hasResources.get(server) ?? false;
  }
}

function offered(tools: readonly McpTool[], fleet: ServerFleet): McpTool[] {
  const servers = new Map(fleet.on.map((server) => [server.name, server]));
  return tools.filter(({ mcp }) => {
    const server = servers.get(mcp.server);
    return server !== undefined && server.member.pins?.isBlocked(mcp.name) !== true;
  });
}

/** To whoever uses them. What is the same object, as of a list that was not listed again, is not read. */
function isSame(before: McpTool, now: McpTool): boolean {
  if (before.description !== now.description) return false;
  const details = Object.keys(now.mcp) as (keyof McpTool["mcp"])[];
  return details.every((key) => {
    // Made from the schema, which is compared.
    if (key === "schemaHash") return true;
    const [was, is] = [before.mcp[key], now.mcp[key]];
    return was === is || schemaHash(was) === schemaHash(is);
  });
}
