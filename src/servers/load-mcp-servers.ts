import { type LoadMcpServersOptions, resolveConfigOptions } from "./config-options.js";
import { type LoadedMcpServers, loadConfig } from "./load-config.js";
import { openOnDisk } from "./read-config-file.js";

/**
 * The servers of the config files of MCP clients, ready for `createMcpTools`. Nothing is started or
 * sent, and nothing that stands in a file is run. A file or a server that is no good costs only
 * itself; what throws are bad options (kind `definition`) and the caller's signal.
 */
export async function loadMcpServers(options: LoadMcpServersOptions = {}): Promise<LoadedMcpServers> {
  return loadConfig(resolveConfigOptions(options, process.platform), openOnDisk);
}
