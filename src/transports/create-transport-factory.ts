import type { ServerAddress, ServerSpec } from "../config/server-config.js";
import type { SourceParts, TransportSource } from "./transport-factory.js";

/** Loads what this kind of server needs, and nothing else. */
export async function openTransportSource(
  spec: ServerSpec,
  address: ServerAddress,
  parts: SourceParts,
): Promise<TransportSource> {
  switch (address.kind) {
    case "http":
    case "sse": {
      const { openHttpSource } = await import("./http/http-transport-factory.js");
      return openHttpSource(spec, address, parts);
    }
    case "in-process": {
      const { openInProcessTransport } = await import("./in-process.js");
      return {
        openTransport: async () => openInProcessTransport(await address.open()),
        close: nothingShared,
      };
    }
    case "custom":
      return { openTransport: async () => address.open(), close: nothingShared };
    case "stdio": {
      const { StdioSource } = await import("./stdio/stdio-transport-factory.js");
      return new StdioSource({ server: spec.name, address, maxBytes: spec.limits.responseBytes, ...parts });
    }
    case "websocket": {
      const { openWebSocketSource } = await import("./websocket/websocket-transport-factory.js");
      return openWebSocketSource(spec, address, parts);
    }
    case "lambda": {
      const { openLambdaSource } = await import("./lambda/lambda-transport-factory.js");
      return openLambdaSource(spec, address, parts);
    }
  }
}

async function nothingShared(): Promise<void> {
  // Each transport owns all it has.
}
