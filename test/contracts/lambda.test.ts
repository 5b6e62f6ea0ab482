import { beforeEach } from "vitest";
import { McpClient } from "../../src/index.js";
import { NO_RETRY } from "../fixtures/clients.js";
import { ERAS, EraServer } from "../fixtures/era-server.js";
import { stubAwsEnvironment, LambdaEndpoint } from "../fixtures/lambda-endpoint.js";
import { describeTransport } from "./transport-contract.js";

beforeEach(stubAwsEnvironment);

/**
 * Uses the real AWS client. A function has no connection or process that outlives a call, so the AWS
 * endpoint is what stops and restarts here.
 */
for (const era of ERAS) {
  describeTransport(`AWS Lambda, a ${era} server`, async (tools) => {
    const server = new EraServer(era, { tools });
    const endpoint = await LambdaEndpoint.serve(server);
    const client = new McpClient({
      name: "function",
      ...NO_RETRY,
      functionName: "tools",
      region: "eu-north-1",
      endpoint: endpoint.url,
    });
    return {
      server,
      client,
      kill: () => endpoint.stop(),
      revive: () => endpoint.start(),
      isClean: () => endpoint.openSockets === 0,
      async [Symbol.asyncDispose]() {
        await client.close();
        await endpoint.stop();
      },
    };
  });
}
