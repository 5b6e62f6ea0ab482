import { type LoadedMcpServers, type LoadMcpServersOptions, resolveConfigOptions } from "./config-options.js";

/**
 * Loads servers from the config files of MCP clients (Claude Code, VS Code, Cursor and others), for
 * `createMcpTools`. No server is started or contacted, and no command in a file is run. An invalid file or
 * server is reported in `problems` and does not affect the others.
 *
 * @throws McpRuntimeError of kind `invalid-config` for invalid options, and the reason of `signal` when it is
 * aborted.
 *
 * @example
 * ```ts
 * const { servers, problems } = await loadMcpServers({ user: true });
 * for (const { message } of problems) console.warn(message);
 * await using toolset = await createMcpTools(servers);
 * ```
 */
export async function loadMcpServers(options: LoadMcpServersOptions = {}): Promise<LoadedMcpServers> {
  const resolved = resolveConfigOptions(options, process.platform);
  const [{ mergeConfigFiles }, { openForReading }] = await Promise.all([
    import("./merge-config-files.js"),
    import("./config-reader.js"),
  ]);
  return mergeConfigFiles(resolved, openForReading);
}
