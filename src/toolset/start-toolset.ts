import type { McpServerManager } from "../manager/mcp-server-manager.js";
import { type StartOptions, startServers } from "../manager/start-servers.js";
import type { LiveTools } from "./tool-list.js";
import type { McpToolset } from "./mcp-toolset.js";
import { Toolset, type ToolsetParts } from "./toolset.js";

interface StartParts extends Omit<ToolsetParts, "tools"> {
  readonly tools: LiveTools;
  readonly options: StartOptions;
  /** Done before anything is opened. */
  readonly prepare?: () => Promise<void>;
}

/** What both factories that start servers take. */
export const START_KEYS = "cache pin concurrency closeTimeoutMs startupWaitMs waitForUncached signal".split(
  " ",
);

/** Starts the servers and gives their tools; what was opened is closed when that fails. */
export async function startToolset<Name extends string>({
  manager,
  tools,
  options,
  prepare,
  ...others
}: StartParts): Promise<McpToolset<Name>> {
  try {
    await prepare?.();
    await startServers(manager, options);
    tools.start();
  } catch (error) {
    await manager.close();
    throw error;
  }
  warnOfFailures(manager);
  return new Toolset<Name>({ manager, tools, ...others });
}

/** Of servers that have failed, and of those that will. */
function warnOfFailures(manager: McpServerManager): void {
  const { fleet } = manager;
  const warn = (name: string, why: Error) => {
    const { isOptional, known } = fleet.get(name);
    const who = isOptional && known.tools === undefined ? "Optional server" : "Server";
    const what =
      known.tools === undefined ? "is left out" : "is not connected, its tools are those last known";
    fleet.settings.warn(`${who} "${name}" ${what}: ${why.message}`);
  };
  for (const { name, hasFailed, error } of fleet.all) if (hasFailed && error !== undefined) warn(name, error);
  manager.on("serverChanged", ({ server, state, error }) => {
    if (state === "failed" && error !== undefined) warn(server, error);
  });
}
