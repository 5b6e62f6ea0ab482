import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Seat } from "../session/seats.js";

/** Hands the code of a login to whoever waits for it. */
export async function finishLogin(
  server: string,
  credentials: Seat["credentials"],
  code: string,
): Promise<void> {
  const wrong = (text: string) => new McpRuntimeError("definition", text, { server });
  if (typeof code !== "string" || code === "")
    throw wrong("finishAuth needs the code with which the user came back.");
  if (credentials === undefined) throw wrong(`Server "${server}" has no auth in its definition.`);
  await credentials.finish(code);
}
