import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";

/** Returns the error of kind `invalid-config` that `work` throws, and fails on any other outcome. */
export function catchConfigError(work: () => unknown): McpRuntimeError {
  try {
    work();
  } catch (error) {
    if (error instanceof McpRuntimeError && error.kind === "invalid-config") return error;
    throw error;
  }
  throw new Error("Expected an error of kind invalid-config, but nothing was thrown.");
}
