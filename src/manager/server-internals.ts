import type { CatalogEvents, CatalogueWitness } from "../catalog/catalog-events.js";
import { ListStore } from "../catalog/tool-list-store.js";
import { ToolCatalog } from "../catalog/tool-catalog.js";
import { ToolPins } from "../catalog/tool-pins.js";
import type { McpClient } from "../client/mcp-client.js";
import { systemClock } from "../async/clock.js";
import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CatalogSettings } from "./catalog-options.js";

/** A server among others: its client, and what is known of its tools. */
export interface Member {
  readonly client: McpClient;
  readonly catalogue: ToolCatalog;
  /** Set where changes of its tools are to be noticed. */
  readonly pins: ToolPins | undefined;
}

/** What whoever has a member wants to do with it. */
export interface MemberHooks {
  /** The server has listed its tools to this identity. */
  readonly onListed?: (identity: string, tools: readonly McpToolInfo[]) => void;
  /** Throws while nothing may be sent. */
  readonly guard?: () => void;
}

interface MemberParts extends MemberHooks {
  readonly client: McpClient;
  /** Where the server is, without anything secret. */
  readonly address: JsonObject;
  readonly settings: CatalogSettings;
  readonly witness: CatalogueWitness;
}

const now = () => Date.now();

export function createMember(parts: MemberParts): Member {
  const { client, address, settings, onListed, guard, witness } = parts;
  const { name: server, fingerprint } = client;
  const { staleAfterMs, store, ttlMs, pin: mode, warn } = settings;
  const onProtocol = (version: string) => client.hintProtocolVersion(version);
  const onBroken = (event: Omit<CatalogEvents["pinMismatch"], "server">) =>
    witness.emit("pinMismatch", { ...event, server });
  const pins =
    mode === undefined ? undefined : new ToolPins({ server, mode, address, store, warn, onBroken });
  const catalogue = new ToolCatalog({
    server,
    source: {
      identityOf: (asker) => client.identityOf(asker),
      listTools: async (options) => {
        guard?.();
        return watchListing(server, witness, () => client.listTools(options));
      },
      get protocolVersion() {
        return client.protocolVersion;
      },
    },
    staleAfterMs,
    store:
      store === undefined
        ? undefined
        : // Pins outlive a token; a list is of what that token may see.
          new ListStore({ server, fingerprint, store, ttlMs, now, warn, onProtocol }),
    clock: systemClock,
    now,
    inspect: async (tools, identity) => pins?.check(tools, identity),
    onListed,
    onRead: (identity, found) => witness.emit("catalogRead", { server, identity, result: found }),
    warn,
  });
  client.on("toolsChanged", () => catalogue.hearChange(), { quiet: true });
  return { client, catalogue, pins };
}

async function watchListing(
  server: string,
  witness: CatalogueWitness,
  list: () => Promise<McpToolInfo[]>,
): Promise<McpToolInfo[]> {
  const startedAt = systemClock.now();
  const tell = (tools: number | undefined, kind: FailureKind | undefined) =>
    witness.emit("toolsListed", { server, latencyMs: systemClock.now() - startedAt, tools, kind });
  try {
    const tools = await list();
    tell(tools.length, undefined);
    return tools;
  } catch (error) {
    tell(undefined, error instanceof McpRuntimeError ? error.kind : "cancelled");
    throw error;
  }
}
