import type { CallerContext } from "../client/call-tool.js";
import type { CallerConfig } from "./mcp-toolset.js";

/** Who asks, by the config of a run. */
export function toCallerContext(config: CallerConfig): CallerContext {
  return {
    configurable: { ...config.configurable },
    context: config["context"],
    state: config["state"],
    store: config["store"],
    config,
  };
}
