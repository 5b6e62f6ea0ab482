import type { ServerDefinition } from "../definitions/server-definition.js";
import { redactUrl } from "../errors/redaction.js";
import type { ChosenServer } from "./chosen-server.js";
import { isAnswering } from "./probe.js";

/** Where servers are found most often. */
const PATHS = ["/mcp", "/sse", "/mcp/", "/", "/api/mcp", "/v1/mcp"];

/** Another path of the same server at which MCP is spoken. Found out by shaking hands there. */
export async function otherPath(
  { name, definition }: ChosenServer,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!("url" in definition)) return undefined;
  const given = new URL(definition.url);
  const addresses = PATHS.filter((path) => path !== given.pathname).map((path) =>
    Object.assign(new URL(given), { pathname: path }),
  );
  const found = await Promise.all(
    addresses.map((url) => isAnswering(name, { ...definition, url } as ServerDefinition, { signal })),
  );
  const first = addresses.find((_, index) => found[index]);
  return first === undefined ? undefined : redactUrl(first);
}
