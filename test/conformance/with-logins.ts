import { type McpClient, McpRuntimeError } from "langchain-mcp-runtime";

/** Whoever is asked to log in again and again should wonder, and stop. */
const MOST_LOGINS = 3;

/** Does the work; where the server sends somebody to log in, logs in and does it again. */
export async function withLogins<T>(client: McpClient, work: () => Promise<T>): Promise<T> {
  for (let logins = 0; ; logins += 1) {
    try {
      return await work();
    } catch (error) {
      const address = error instanceof McpRuntimeError ? error.authorizationUrl : undefined;
      if (address === undefined || logins >= MOST_LOGINS) throw error;
      await client.finishAuth(await logIn(address));
    }
  }
}

/** The suite's login pages ask nothing: they send everybody back with a code. */
async function logIn(authorizationUrl: string): Promise<URLSearchParams> {
  const { headers, status } = await fetch(authorizationUrl, { redirect: "manual" });
  const { searchParams } = new URL(headers.get("location") ?? "about:blank");
  if (!searchParams.has("code")) throw new Error(`The login page answered ${status} and gave no code.`);
  return searchParams;
}
