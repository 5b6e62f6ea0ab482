import type { ManagedServer } from "../manager/managed-server.js";
import type { StartOptions } from "../manager/manager-options.js";
import type { McpServerManager } from "../manager/mcp-server-manager.js";
import { withClosingTime } from "../manager/server-errors.js";
import { startServers } from "../manager/start-servers.js";
import type { ToolList } from "./tool-list.js";
import { type McpToolset, Toolset, type ToolsetDependencies } from "./toolset.js";

interface StartToolsetOptions extends ToolsetDependencies {
  readonly options: StartOptions;
  /** Runs before any server is connected. */
  readonly beforeStart?: () => Promise<void>;
}

/** Starts the servers and creates a toolset. Closes the servers if that fails. */
export async function startToolset<Name extends string>({
  manager,
  tools,
  options,
  beforeStart,
  ...others
}: StartToolsetOptions): Promise<McpToolset<Name>> {
  try {
    await beforeStart?.();
    await startServers(manager, options);
    await tools.start();
  } catch (error) {
    const { clock } = manager.serverSet.settings;
    const failedAt = clock.now();
    await manager.close();
    throw withClosingTime(error, clock.now() - failedAt);
  }
  warnAfterStart(manager, tools, others.snapshots);
  return new Toolset<Name>({ manager, tools, ...others });
}

/** Logs servers that have failed, now and later, and those that have no tools at the start. */
function warnAfterStart(
  manager: McpServerManager,
  tools: ToolList,
  snapshots: ReadonlyMap<string, readonly unknown[]> = new Map(),
): void {
  const { serverSet } = manager;
  const { warn } = serverSet.settings;
  const warnFailed = (name: string, reason: Error) => {
    const { isOptional, latestTools } = serverSet.get(name);
    const subject = isOptional && latestTools === undefined ? "Optional server" : "Server";
    const consequence =
      latestTools === undefined ? "is excluded" : "is not connected; its last known tools are used";
    warn(`${subject} "${name}" ${consequence}: ${reason.message}`);
  };
  const offering = new Set(tools.all.map(({ listed }) => listed.server));
  for (const server of serverSet.all) {
    const { name, hasFailed, error } = server;
    if (hasFailed && error !== undefined) warnFailed(name, error);
    else if (!offering.has(name)) warnWithoutTools(server, snapshots.get(name), warn);
  }
  manager.on("serverChanged", ({ server, state, error }) => {
    if (state === "failed" && error !== undefined) warnFailed(server, error);
  });
}

/** A server whose tools are all excluded by rules, or are added when it is connected, is not reported. */
function warnWithoutTools(
  server: ManagedServer,
  snapshot: readonly unknown[] | undefined,
  warn: (message: string) => void,
): void {
  const { name, listsTools, latestTools, isLazy } = server;
  if (!listsTools) {
    if (snapshot?.length === 0) warn(`Resource "${name}" has no tools: its availableTools are empty.`);
  } else if (latestTools === undefined && isLazy)
    warn(
      `Server "${name}" is lazy and its tools are not cached: they are added when it is connected, for example with servers.waitFor("${name}"). With cache.store, later starts know them.`,
    );
  else if (latestTools?.length === 0 && !offersOtherThings(server)) warn(`Server "${name}" lists no tools.`);
}

/** Whether the server declares no tools, but resources or prompts. */
function offersOtherThings({ client: { capabilities } }: ManagedServer): boolean {
  if (capabilities === undefined || "tools" in capabilities) return false;
  return "resources" in capabilities || "prompts" in capabilities;
}
