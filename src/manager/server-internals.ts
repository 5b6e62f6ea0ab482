import type { CatalogEvents, CatalogEventEmitter } from "../catalog/catalog-events.js";
import { ToolListStore } from "../catalog/tool-list-store.js";
import { ToolCatalog } from "../catalog/tool-catalog.js";
import { ToolPins } from "../catalog/tool-pins.js";
import type { McpClient } from "../client/mcp-client.js";
import { systemClock } from "../async/clock.js";
import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CatalogSettings } from "./manager-options.js";

/** The client, tool catalog and pins of one server. */
export interface ServerInternals {
  readonly client: McpClient;
  readonly catalog: ToolCatalog;
  /** Set if changes of tools are detected (option `pin`). */
  readonly pins: ToolPins | undefined;
}

export interface ServerCallbacks {
  /** The server listed its tools for this identity. */
  readonly onListed?: (identity: string, tools: readonly McpToolInfo[]) => void;
  /** Throws while the server must not be used. */
  readonly assertEnabled?: () => void;
}

interface ServerInternalsOptions extends ServerCallbacks {
  readonly client: McpClient;
  /** The server's address without secrets. */
  readonly address: JsonObject;
  readonly settings: CatalogSettings;
  readonly events: CatalogEventEmitter;
}

const now = () => Date.now();

export function createServerInternals(options: ServerInternalsOptions): ServerInternals {
  const { client, address, settings, onListed, assertEnabled, events } = options;
  const { name: server, fingerprint } = client;
  const { staleAfterMs, store, ttlMs, pin: mode, warn } = settings;
  const onProtocolVersion = (version: string) => client.hintProtocolVersion(version);
  const onMismatch = (event: Omit<CatalogEvents["pinMismatch"], "server">) =>
    events.emit("pinMismatch", { ...event, server });
  const pins =
    mode === undefined ? undefined : new ToolPins({ server, mode, address, store, warn, onMismatch });
  const catalog = new ToolCatalog({
    server,
    source: {
      identityOf: (caller) => client.identityOf(caller),
      listTools: async (request) => {
        assertEnabled?.();
        return listWithEvents(server, events, () => client.listTools(request));
      },
      get protocolVersion() {
        return client.protocolVersion;
      },
    },
    staleAfterMs,
    store:
      store === undefined
        ? undefined
        : // Keyed by fingerprint, unlike pins: other credentials may see other tools, but pins outlive a token.
          new ToolListStore({ server, fingerprint, store, ttlMs, now, warn, onProtocolVersion }),
    clock: systemClock,
    now,
    verify: async (tools, identity) => pins?.check(tools, identity),
    onListed,
    onRead: (identity, result) => events.emit("catalogRead", { server, identity, result }),
    warn,
  });
  client.on("toolsChanged", () => catalog.onListChanged(), { passive: true });
  return { client, catalog, pins };
}

async function listWithEvents(
  server: string,
  events: CatalogEventEmitter,
  list: () => Promise<McpToolInfo[]>,
): Promise<McpToolInfo[]> {
  const startedAt = systemClock.now();
  const emit = (tools: number | undefined, kind: FailureKind | undefined) =>
    events.emit("toolsListed", { server, latencyMs: systemClock.now() - startedAt, tools, kind });
  try {
    const tools = await list();
    emit(tools.length, undefined);
    return tools;
  } catch (error) {
    emit(undefined, error instanceof McpRuntimeError ? error.kind : "cancelled");
    throw error;
  }
}
