import type { HttpServerDefinition } from "../../config/server-definition.js";
import type { ChosenServer } from "../servers/selected-server.js";
import { isAnswering } from "./probe.js";

/** Where servers are found most often. */
const PATHS = ["/mcp", "/sse", "/mcp/", "/", "/api/mcp", "/v1/mcp"];

/**
 * Another path of the same server at which MCP is spoken. Found out by shaking hands there, without
 * credentials: who answers at another path may be somebody else.
 */
export async function otherPath(
  { name, definition }: ChosenServer,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!("url" in definition)) return undefined;
  const { url: given, tls } = definition as HttpServerDefinition;
  const { origin, pathname } = new URL(given);
  const addresses = PATHS.filter((path) => path !== pathname).map((path) => `${origin}${path}`);
  const found = await Promise.all(
    addresses.map((url) => {
      const bare: HttpServerDefinition = { url, ...(tls?.ca === undefined ? {} : { tls: { ca: tls.ca } }) };
      return isAnswering(name, bare, { signal });
    }),
  );
  return addresses.find((_, index) => found[index]);
}
