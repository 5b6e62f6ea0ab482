import type { ServerConfig } from "../../config/server-config.js";
import { isFailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";

/** Lets the user's `classify` give a failure another kind. What it gets wrong costs a warning, not the call. */
export function applyUserClassifier(
  error: unknown,
  classify: ServerConfig["classify"],
  warn: (message: string) => void,
): unknown {
  if (classify === undefined || !(error instanceof McpRuntimeError)) return error;
  try {
    const kind: unknown = classify(error);
    if (kind === undefined || kind === error.kind) return error;
    if (isFailureKind(kind)) return error.with({ kind });
    warn(`classify gave ${JSON.stringify(kind)}, which is no kind of failure; it is ignored.`);
  } catch (thrown) {
    warn(`classify threw, and is ignored: ${String(thrown)}`);
  }
  return error;
}
