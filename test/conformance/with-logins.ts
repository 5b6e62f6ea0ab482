import { type McpClient, McpRuntimeError } from "langchain-mcp-runtime";

/** Prevents an endless login loop. */
const MAX_LOGINS = 3;

/** Runs an operation; if the server requires a login, logs in and repeats it. */
export async function withLogins<T>(client: McpClient, operation: () => Promise<T>): Promise<T> {
  for (let logins = 0; ; logins += 1) {
    try {
      return await operation();
    } catch (error) {
      const authorizationUrl = error instanceof McpRuntimeError ? error.authorizationUrl : undefined;
      if (authorizationUrl === undefined || logins >= MAX_LOGINS) throw error;
      await client.finishAuth(await logIn(authorizationUrl));
    }
  }
}

/** The suite's login pages redirect with a code without user interaction. */
async function logIn(authorizationUrl: string): Promise<URLSearchParams> {
  const { headers, status } = await fetch(authorizationUrl, { redirect: "manual" });
  const { searchParams } = new URL(headers.get("location") ?? "about:blank");
  if (!searchParams.has("code")) throw new Error(`The login page returned ${status} without a code.`);
  return searchParams;
}
