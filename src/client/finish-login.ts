import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";
import type { SessionSlot } from "../session/session-pool.js";

/** Hands what a login gave, its code or all of it, to whoever waits for it. */
export async function finishLogin(
  server: string,
  credentials: SessionSlot["credentials"],
  given: string | URLSearchParams,
): Promise<void> {
  const wrong = (text: string) => new McpRuntimeError("invalid-config", text, { server });
  const params = given instanceof URLSearchParams ? given : undefined;
  const code: unknown = params === undefined ? given : params.get("code");
  const refused = params?.get("error");
  if (typeof refused === "string")
    throw new McpRuntimeError("unauthorized", `The login failed: ${quoteServer(refused)}.`, { server });
  if (typeof code !== "string" || code === "")
    throw wrong("finishAuth needs the code with which the user came back.");
  if (credentials === undefined) throw wrong(`Server "${server}" has no auth in its definition.`);
  await credentials.finish({ code, params });
}
