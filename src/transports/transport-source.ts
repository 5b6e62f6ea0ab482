import type { Clock } from "../concurrency/clock.js";
import type { MessageTransport } from "../definitions/message-transport.js";
import type { ServerAddress, ServerSpec } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";

/** What a client opens once: it gives a fresh transport for each session and owns what they share. */
export interface TransportSource {
  openTransport(): Promise<MessageTransport>;
  close(): Promise<void>;
}

interface SourceParts {
  readonly redactor: Redactor;
  readonly clock: Clock;
}

/** Loads what this kind of server needs, and nothing else. */
export async function openTransportSource(
  spec: ServerSpec,
  address: ServerAddress,
  parts: SourceParts,
): Promise<TransportSource> {
  switch (address.kind) {
    case "http":
      return openHttpSource(spec, address, parts);
    case "in-process": {
      const { openInProcessTransport } = await import("./in-process.js");
      return {
        openTransport: async () => openInProcessTransport(await address.open()),
        close: nothingShared,
      };
    }
    case "custom":
      return { openTransport: async () => address.open(), close: nothingShared };
    case "sse":
    case "stdio":
    case "websocket":
    case "lambda":
      throw new McpRuntimeError(
        "definition",
        `Server "${spec.name}" is of kind "${address.kind}", which this version cannot open. Use http, an in-process server, or openTransport.`,
        { server: spec.name },
      );
  }
}

async function nothingShared(): Promise<void> {
  // Each transport owns all it has.
}

async function openHttpSource(
  spec: ServerSpec,
  address: ServerAddress & { kind: "http" },
  parts: SourceParts,
): Promise<TransportSource> {
  const [{ HttpPool }, { StreamableHttpTransport }] = await Promise.all([
    import("./http-pool.js"),
    import("./streamable-http.js"),
  ]);
  const { name: server, limits, timeouts, session } = spec;
  const { url, headers } = address;
  const pool = new HttpPool({ origin: url.origin, sockets: limits.sockets, connectMs: timeouts.connectMs });
  return {
    openTransport: async () =>
      new StreamableHttpTransport({
        server,
        url,
        headers,
        pool,
        ...parts,
        maxBytes: limits.responseBytes,
        sessionId: session.id,
        protocolVersion: session.protocolVersion,
      }),
    close: () => pool.close(),
  };
}
