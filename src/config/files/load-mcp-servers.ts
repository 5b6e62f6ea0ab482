import { type LoadMcpServersOptions, resolveConfigOptions } from "./config-options.js";
import type { LoadedMcpServers } from "./load-servers.js";

/**
 * The servers of the config files of MCP clients, ready for `createMcpTools`. Nothing is started or
 * sent, and nothing that stands in a file is run. A file or a server that is no good costs only
 * itself; what throws are bad options (kind `definition`) and the caller's signal.
 */
export async function loadMcpServers(options: LoadMcpServersOptions = {}): Promise<LoadedMcpServers> {
  const resolved = resolveConfigOptions(options, process.platform);
  const [{ loadConfig }, { openOnDisk }] = await Promise.all([
    import("./load-servers.js"),
    import("./read-config-file.js"),
  ]);
  return loadConfig(resolved, openOnDisk);
}
