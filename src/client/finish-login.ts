import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import type { SessionSlot } from "../session/session-pool.js";

/** Passes an authorization code, or all redirect parameters, to the OAuth flow that waits for it. */
export async function finishLogin(
  server: string,
  credentials: SessionSlot["credentials"],
  login: string | URLSearchParams,
): Promise<void> {
  const invalidLogin = (text: string) => new McpRuntimeError("invalid-config", text, { server });
  const params = login instanceof URLSearchParams ? login : undefined;
  const code: unknown = params === undefined ? login : params.get("code");
  const error = params?.get("error");
  if (typeof error === "string")
    throw new McpRuntimeError("unauthorized", `The login failed: ${excerpt(error)}.`, { server });
  if (typeof code !== "string" || code === "")
    throw invalidLogin("finishAuth requires the authorization code from the redirect.");
  if (credentials === undefined) throw invalidLogin(`Server "${server}" has no auth in its definition.`);
  await credentials.finishLogin({ code, params });
}
