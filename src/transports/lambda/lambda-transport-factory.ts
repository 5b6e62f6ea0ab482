import type { ServerAddress, ServerConfig } from "../../config/server-config.js";
import { LambdaFunction } from "./lambda-function.js";
import { LambdaTransport } from "./lambda-transport.js";
import type { SourceParts, TransportFactory } from "../transport-factory.js";

/** A function on AWS Lambda: one client of AWS, with one pool, for all sessions. */
export async function openLambdaSource(
  config: ServerConfig,
  address: ServerAddress & { readonly kind: "lambda" },
  parts: SourceParts,
): Promise<TransportFactory> {
  const { name: server, limits, timeouts } = config;
  const { redactor } = parts;
  const { connectMs } = timeouts;
  const invoked = await LambdaFunction.load({ ...address, server, limits, connectMs, redactor });
  return {
    openTransport: async () =>
      new LambdaTransport(invoked, { server, origin: address.functionName, ...parts }),
    close: () => invoked.close(),
  };
}
