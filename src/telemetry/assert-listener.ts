import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** Throws kind `definition` for an event that never comes, and for a listener that cannot be told. */
export function checkListener(name: unknown, listener: unknown, names: readonly string[]): void {
  if (!names.includes(name as string))
    throw new McpRuntimeError(
      "invalid-config",
      `There is no event "${String(name)}"; there are ${names.join(", ")}.`,
    );
  if (typeof listener !== "function")
    throw new McpRuntimeError("invalid-config", `Who listens to "${String(name)}" has to be a function.`);
}
