import { compareTools, type ServerDrift, unreachable } from "../catalogue/drift.js";
import type { Asker } from "../catalogue/tool-source.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "../manager/managed-server.js";

/** What is known of each server against what it lists now. One that cannot be asked says nothing about its tools. */
export async function detectDrift(
  servers: readonly ManagedServer[],
  saved: ReadonlyMap<string, readonly McpToolInfo[]>,
  asker: Asker,
): Promise<Record<string, ServerDrift>> {
  const entries = servers.map(async ({ name: server, known, member }): Promise<[string, ServerDrift]> => {
    const before = saved.get(server) ?? known.first ?? [];
    try {
      return [server, compareTools(before, await member.catalogue.refresh(asker))];
    } catch (error) {
      if (!(error instanceof McpRuntimeError)) throw error;
      return [server, unreachable(error)];
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}
