import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";

/** The error of kind `definition` that the work ends with; whatever else happens fails the test. */
export function definitionErrorOf(work: () => unknown): McpRuntimeError {
  try {
    work();
  } catch (error) {
    if (error instanceof McpRuntimeError && error.kind === "invalid-config") return error;
    throw error;
  }
  throw new Error("Expected an error of kind definition, and nothing was thrown.");
}
