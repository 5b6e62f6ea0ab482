import type { CallerContext } from "../client/call-options.js";
import { definitionError } from "../errors/config-error.js";
import { describeFound } from "../json/describe-value.js";
import type { CallerConfig } from "./mcp-toolset.js";

/** Who asks, by the config of a run. Throws kind `definition` for what is none. */
export function toCallerContext(config: CallerConfig): CallerContext {
  if (typeof config !== "object" || config === null || config instanceof Promise) {
    const message = `expected the config of a run, { configurable: { … } }, found ${describeFound(config)}`;
    throw definitionError("What a toolset was given", [{ path: "config", message }]);
  }
  return {
    configurable: { ...config.configurable },
    context: config["context"],
    state: config["state"],
    store: config["store"],
    config,
  };
}
