import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** A caller in plain JavaScript can pass anything. */
export function checkSignal(signal: Partial<AbortSignal> | null): void {
  if (typeof signal?.addEventListener === "function") return;
  const found = signal === null ? "null" : `a ${typeof signal}`;
  throw new McpRuntimeError("invalid-config", `signal has to be an AbortSignal, found ${found}.`);
}
