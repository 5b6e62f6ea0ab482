import type { ServerAddress, ServerConfig } from "../config/server-config.js";
import type { TransportDependencies, TransportFactory } from "./transport.js";

/** Creates the transport factory of a server. Only the modules of its transport are loaded. */
export async function createTransportFactory(
  config: ServerConfig,
  address: ServerAddress,
  dependencies: TransportDependencies,
): Promise<TransportFactory> {
  switch (address.kind) {
    case "http":
    case "sse": {
      const { createHttpFactory } = await import("./http/http-transport-factory.js");
      return createHttpFactory(config, address, dependencies);
    }
    case "in-process":
    case "custom": {
      const { createCustomFactory } = await import("./custom-transport.js");
      return createCustomFactory(config, address, dependencies);
    }
    case "stdio": {
      const { createStdioFactory } = await import("./stdio/stdio-transport.js");
      return createStdioFactory(config, address, dependencies);
    }
    case "websocket": {
      const { createWebSocketFactory } = await import("./websocket/websocket-transport.js");
      return createWebSocketFactory(config, address, dependencies);
    }
    case "lambda": {
      const { createLambdaFactory } = await import("./lambda/lambda-transport.js");
      return createLambdaFactory(config, address, dependencies);
    }
  }
}
