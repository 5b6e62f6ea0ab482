import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { withDeadline } from "../async/deadline.js";
import type { DynamicAddress, ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { ResolvedSpec } from "../session/connection.js";
import { ownedHeaderNames } from "../transports/http/protocol-headers.js";

/** Without TLS. */
const PLAIN: ReadonlySet<string> = new Set(["http:", "ws:"]);

interface ResolveParts {
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** Ends a look-up when the client is closed. */
  readonly cancellation: CancelScope;
  readonly warn: (message: string) => void;
}

/** The server with its address, looked up if it has to be. What it says in vain is warned about. */
export async function resolveServer(given: ServerConfig, parts: ResolveParts): Promise<ResolvedSpec> {
  const config = given.address.kind === "dynamic" ? await lookUp(given, given.address, parts) : given;
  const { address, name: server } = config;
  if (address.kind === "dynamic") {
    const text = `Server "${server}" resolves to one that has to be resolved again.`;
    throw new McpRuntimeError("invalid-config", text, { server });
  }
  const owned = "headers" in address ? ownedHeaderNames(address.headers) : [];
  if (owned.length > 0)
    parts.warn(`Server "${server}": the protocol sets ${owned.join(", ")} itself; left out.`);
  if ("tls" in address && address.tls !== undefined && PLAIN.has(address.url.protocol))
    parts.warn(
      `Server "${server}": tls has no effect on an address that starts with ${address.url.protocol}//.`,
    );
  return { ...config, address };
}

async function lookUp(
  given: ServerConfig,
  address: DynamicAddress,
  parts: ResolveParts,
): Promise<ServerConfig> {
  const { clock, redactor, cancellation } = parts;
  const { name: server, timeouts } = given;
  const ms = timeouts.connectMs;
  const expired = () =>
    new McpRuntimeError("timeout", `The address of server "${server}" was not found out within ${ms} ms.`, {
      server,
    });
  try {
    return await withDeadline({ ms, clock, cancellation, expired }, async (limited) => {
      const aborter = new AbortController();
      const forget = limited.onCancel((reason) => aborter.abort(reason));
      const context = { signal: aborter.signal, warn: parts.warn };
      return limited.race(address.resolve(context)).finally(forget);
    });
  } catch (error) {
    if (error instanceof McpRuntimeError) throw error;
    const said = redactor.text(error instanceof Error ? error.message : String(error));
    const text = `The address of server "${server}" could not be found out: ${said}`;
    throw new McpRuntimeError("not-sent", text, { server, cause: redactor.cause(error) });
  }
}
