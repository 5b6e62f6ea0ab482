import { compareTools, type ServerDrift, unreachable } from "../catalogue/drift.js";
import type { Asker } from "../catalogue/tool-source.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Member } from "./member.js";

/** What is known of each server against what it lists now. One that cannot be asked says nothing about its tools. */
export async function detectDrift(
  members: ReadonlyMap<string, Member>,
  known: ReadonlyMap<string, readonly McpToolInfo[]>,
  asker: Asker,
): Promise<Record<string, ServerDrift>> {
  const entries = [...members].map(async ([server, { catalogue }]): Promise<[string, ServerDrift]> => {
    try {
      return [server, compareTools(known.get(server) ?? [], await catalogue.refresh(asker))];
    } catch (error) {
      if (!(error instanceof McpRuntimeError)) throw error;
      return [server, unreachable(error)];
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}
