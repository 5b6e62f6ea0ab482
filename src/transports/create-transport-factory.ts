import type { ServerAddress, ServerConfig } from "../config/server-config.js";
import type { SourceParts, TransportFactory } from "./transport-factory.js";

/** Loads what this kind of server needs, and nothing else. */
export async function openTransportSource(
  config: ServerConfig,
  address: ServerAddress,
  parts: SourceParts,
): Promise<TransportFactory> {
  switch (address.kind) {
    case "http":
    case "sse": {
      const { openHttpSource } = await import("./http/http-transport-factory.js");
      return openHttpSource(config, address, parts);
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
      return new StdioSource({
        server: config.name,
        address,
        maxBytes: config.limits.responseBytes,
        ...parts,
      });
    }
    case "websocket": {
      const { openWebSocketSource } = await import("./websocket/websocket-transport-factory.js");
      return openWebSocketSource(config, address, parts);
    }
    case "lambda": {
      const { openLambdaSource } = await import("./lambda/lambda-transport-factory.js");
      return openLambdaSource(config, address, parts);
    }
  }
}

async function nothingShared(): Promise<void> {
  // Each transport owns all it has.
}
