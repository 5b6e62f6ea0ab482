import type { CancelScope } from "../async/cancel-scope.js";
import { type Clock, withDeadline } from "../async/clock.js";
import type { DynamicAddress, ServerAddress, ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { describeThrown } from "../errors/sanitize-text.js";
import { reservedHeaderNames } from "../transports/http/protocol-headers.js";

const INSECURE_SCHEMES: ReadonlySet<string> = new Set(["http:", "ws:"]);

interface ResolveDependencies {
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** Cancelled when the client is closed. */
  readonly cancellation: CancelScope;
  readonly onWarning: (message: string) => void;
}

/** A server configuration whose address is resolved. */
export type ReadyServerConfig = ServerConfig & { readonly address: ServerAddress };

/** Resolves the address of a dynamic server. Warns about settings that have no effect. */
export async function resolveServer(
  input: ServerConfig,
  deps: ResolveDependencies,
): Promise<ReadyServerConfig> {
  const config =
    input.address.kind === "dynamic"
      ? withInheritedPolicy(input, await runResolver(input, input.address, deps))
      : input;
  const { address, name: server } = config;
  if (address.kind === "dynamic") {
    const text = `Server "${server}" resolves to another dynamic server; expected an address.`;
    throw new McpRuntimeError("invalid-config", text, { server });
  }
  const reserved = "headers" in address ? reservedHeaderNames(address.headers) : [];
  if (reserved.length > 0)
    deps.onWarning(
      `Server "${server}": ignoring headers ${reserved.join(", ")}: they are set by the protocol.`,
    );
  if ("tls" in address && address.tls !== undefined && INSECURE_SCHEMES.has(address.url.protocol))
    deps.onWarning(`Server "${server}": tls has no effect on a ${address.url.protocol}// address.`);
  return { ...config, address };
}

/** The address of a dynamic server was looked up, and the server and its toolset both have to allow it. */
function withInheritedPolicy(input: ServerConfig, resolved: ServerConfig): ServerConfig {
  const { addressOrigin: marked } = resolved;
  return {
    ...resolved,
    allowAddress: [...new Set([...input.allowAddress, ...resolved.allowAddress])],
    addressOrigin: marked.source === "operator" ? { source: "lookup" } : marked,
  };
}

async function runResolver(
  config: ServerConfig,
  address: DynamicAddress,
  deps: ResolveDependencies,
): Promise<ServerConfig> {
  const { clock, redactor, cancellation } = deps;
  const { name: server, timeouts } = config;
  const ms = timeouts.connectMs;
  const createError = () =>
    new McpRuntimeError("timeout", `The address of server "${server}" was not resolved within ${ms} ms.`, {
      server,
    });
  try {
    return await withDeadline({ ms, clock, cancellation, createError }, async (limited) => {
      const aborter = new AbortController();
      const unsubscribe = limited.onCancel((reason) => aborter.abort(reason));
      const context = { signal: aborter.signal, warn: deps.onWarning };
      return limited.race(address.resolve(context, server)).finally(unsubscribe);
    });
  } catch (error) {
    if (error instanceof McpRuntimeError) throw error;
    const reason = redactor.redact(describeThrown(error));
    const text = `Cannot resolve the address of server "${server}": ${reason}`;
    throw new McpRuntimeError("not-sent", text, { server, cause: redactor.redactCause(error) });
  }
}
