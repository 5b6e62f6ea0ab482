import { afterEach, beforeEach, vi } from "vitest";
import { McpClient } from "../../src/index.js";
import { ONCE } from "../fixtures/clients.js";
import { ERAS, EraServer } from "../fixtures/era-server.js";
import { AWS_ENVIRONMENT, LambdaEndpoint } from "../fixtures/lambda-endpoint.js";
import { describeTransport } from "./transport-contract.js";

beforeEach(() => {
  for (const [name, value] of Object.entries(AWS_ENVIRONMENT)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/**
 * The AWS client is the real one. A function has neither a connection nor a process that outlives a
 * call: what dies and comes back here is the endpoint of AWS, with whatever runs behind it.
 */
for (const era of ERAS) {
  describeTransport(`AWS Lambda, a ${era} server`, async (tools) => {
    const server = new EraServer(era, { tools });
    const endpoint = await LambdaEndpoint.serve(server);
    const client = new McpClient({
      name: "function",
      ...ONCE,
      functionName: "tools",
      region: "eu-north-1",
      endpoint: endpoint.url,
    });
    return {
      server,
      client,
      kill: () => endpoint.stop(),
      revive: () => endpoint.start(),
      isLeft: () => endpoint.openSockets === 0,
      async [Symbol.asyncDispose]() {
        await client.close();
        await endpoint.stop();
      },
    };
  });
}
