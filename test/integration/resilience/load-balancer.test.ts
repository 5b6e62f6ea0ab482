import { expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, recordWarnings, times } from "../../fixtures/clients.js";
import { LoadBalancer } from "../../fixtures/load-balancer.js";
import { createSeededRandom } from "../../fixtures/seeded-random.js";

const random = createSeededRandom(7);

/** How a balancer without sticky sessions picks one of two servers. */
const BALANCERS = [
  ["round-robin", undefined],
  ["random", () => random.between(0, 1)],
] as const;

it.each(BALANCERS)(
  "200 of 200 calls succeed with two stateful servers behind a %s balancer without sticky sessions",
  async (_, pick) => {
    await using first = await startMcpTestServer({ responseFormat: "json" });
    await using second = await startMcpTestServer({ responseFormat: "json" });
    await using balancer = await LoadBalancer.start({
      upstreams: [first.url, second.url],
      ...(pick && { pick }),
    });
    await using client = createTestClient(balancer);
    const warnings = recordWarnings(client);
    // With a server stream, a handshake takes an even number of requests.
    client.on("toolsChanged", () => undefined);

    for (const text of times(200, (n) => `n${n}`))
      expect((await client.callTool(echo(text))).text()).toBe(text);

    expect(first.executions.length + second.executions.length).toBe(200);
    expect(warnings).toEqual([expect.stringContaining("it needs sticky sessions")]);
  },
);
