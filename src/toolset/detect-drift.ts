import { compareTools, type KnownList, type ServerDrift, unreachable } from "../catalog/drift.js";
import type { Asker } from "../catalog/tool-source.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "../manager/managed-server.js";
import type { ServerFleet } from "../manager/server-set.js";

/** What is known of each server against what it lists now. */
export async function detectDrift(
  { on: servers, events }: Pick<ServerFleet, "on" | "events">,
  saved: ReadonlyMap<string, readonly McpToolInfo[]>,
  asker: Asker,
): Promise<Record<string, ServerDrift>> {
  const entries = servers.map(async (server): Promise<[string, ServerDrift]> => {
    const { name, known } = server;
    const tools = saved.get(name);
    const before = { tools: tools ?? known.first ?? [], isSaved: tools !== undefined };
    const drift = await driftOf(server, before, asker);
    events.emit("driftChecked", { ...drift, server: name });
    return [name, drift];
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** One that cannot be asked says nothing about its tools. */
async function driftOf({ member }: ManagedServer, before: KnownList, asker: Asker): Promise<ServerDrift> {
  try {
    return compareTools(before, await member.catalogue.refresh(asker));
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return unreachable(error);
  }
}
