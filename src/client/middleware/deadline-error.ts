import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ClientRequest } from "../request-context.js";

/** A deadline of ours has passed. */
export function outOfTime(
  request: ClientRequest,
  limit: "requestMs" | "totalMs",
  server: string,
): McpRuntimeError {
  const { tool, method, requestMs, trace } = request;
  const what = tool === undefined ? method : `tool "${tool}"`;
  const within = limit === "requestMs" ? `${requestMs} ms` : "its whole time";
  const advice = trace.wasSent ? "It may still be running there." : "The request was not sent.";
  const text = `Server "${server}" did not answer ${what} within ${within} (timeouts.${limit}). ${advice}`;
  return new McpRuntimeError("timeout", text, { server });
}
