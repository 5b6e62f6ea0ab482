import type { CallerContext } from "../client/call-options.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { CallerConfig } from "./mcp-toolset.js";

/** Who asks, by the config of a run. Throws kind `definition` for what is none. */
export function toCallerContext(config: CallerConfig): CallerContext {
  if (typeof config !== "object" || config === null || config instanceof Promise) {
    const message = `expected the config of a run, { configurable: { … } }, found ${describeValue(config)}`;
    throw configError("What a toolset was given", [{ path: "config", message }]);
  }
  return {
    configurable: { ...config.configurable },
    context: config["context"],
    state: config["state"],
    store: config["store"],
    config,
  };
}
