import type { ServerAddress, ServerConfig } from "../../config/server-config.js";
import { LambdaFunction } from "./lambda-function.js";
import { LambdaTransport } from "./lambda-transport.js";
import type { TransportDependencies, TransportFactory } from "../transport.js";

/** All sessions share one AWS client with one connection pool. */
export async function createLambdaFactory(
  config: ServerConfig,
  address: ServerAddress & { readonly kind: "lambda" },
  dependencies: TransportDependencies,
): Promise<TransportFactory> {
  const { name: server, limits, timeouts } = config;
  const { redactor } = dependencies;
  const { connectMs } = timeouts;
  const lambdaFunction = await LambdaFunction.load({ ...address, server, limits, connectMs, redactor });
  return {
    openTransport: async () =>
      new LambdaTransport(lambdaFunction, { server, origin: address.functionName, ...dependencies }),
    close: () => lambdaFunction.close(),
  };
}
