import { describe, expect, it } from "vitest";
import type { McpClient } from "../../src/index.js";
import type { McpTestServer, TestTool } from "../../src/testing/index.js";
import { echo, eventually, rejection, deferred, times } from "../fixtures/clients.js";

/** A server that is reached over one kind of transport, and its client. */
export interface ContractSubject extends AsyncDisposable {
  readonly server: Pick<McpTestServer, "executions" | "openSessions" | "openSockets">;
  readonly client: McpClient;
  /** Whether the server has no sessions and sockets of the client left. */
  readonly isClean: () => boolean;
  /** Stops the server and breaks all its connections. */
  readonly kill: () => Promise<void>;
  /** Starts the server again, without any state. */
  readonly revive: () => Promise<void>;
}

const ECHO: TestTool = { name: "echo", run: ({ text }) => String(text) };

/** The behavior that every transport guarantees. */
export function describeTransport(
  name: string,
  open: (tools: readonly TestTool[]) => Promise<ContractSubject>,
): void {
  describe(`the transport contract: ${name}`, () => {
    it("a call receives its response", async () => {
      await using subject = await open([ECHO]);
      expect((await subject.client.callTool(echo("hi"))).text()).toBe("hi");
      expect(subject.client.state).toBe("ready");
    });

    it("200 concurrent calls receive their own responses, in any order", async () => {
      const shuffled: TestTool = {
        name: "echo",
        run: async ({ text }) => {
          await new Promise((resolve) => setTimeout(resolve, (Number(text) * 7919) % 20));
          return text;
        },
      };
      await using subject = await open([shuffled]);
      const results = await Promise.all(times(200, (n) => subject.client.callTool(echo(String(n)))));
      expect(results.map((result) => result.text())).toEqual(times(200, String));
      expect(subject.server.executions).toHaveLength(200);
    });

    it("messages of several megabytes are sent and received", async () => {
      await using subject = await open([ECHO]);
      const text = "ä€😀\n".repeat(200_000);
      expect((await subject.client.callTool(echo(text))).text()).toBe(text);
    });

    it("a cancelled call rejects with its reason and does not affect a concurrent call", async () => {
      const { promise, resolve } = deferred();
      await using subject = await open([{ name: "slow", run: async () => (await promise, "slow") }]);
      await subject.client.ensureSession();
      const controller = new AbortController();
      const cancelled = rejection(subject.client.callTool({ name: "slow" }, { signal: controller.signal }));
      const sibling = subject.client.callTool({ name: "slow" });
      await eventually(() => subject.server.executions.length === 2);
      controller.abort("enough");
      expect(await cancelled).toBe("enough");
      resolve();
      expect((await sibling).text()).toBe("slow");
    });

    it("a call succeeds after the server was restarted", async () => {
      await using subject = await open([ECHO]);
      await subject.client.callTool(echo());
      await subject.kill();
      await subject.revive();
      expect((await subject.client.callTool(echo("back"))).text()).toBe("back");
      expect(subject.server.executions).toHaveLength(2);
    });

    it("a server that stops during a call fails it at once, and the call is not retried", async () => {
      const { promise, resolve } = deferred();
      await using subject = await open([{ name: "slow", run: async () => (await promise, "slow") }]);
      await subject.client.ensureSession();
      const call = rejection(subject.client.callTool({ name: "slow" }));
      await eventually(() => subject.server.executions.length === 1);
      await subject.kill();
      expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
      await subject.revive();
      resolve();
      expect((await subject.client.callTool({ name: "slow" })).text()).toBe("slow");
      expect(subject.server.executions).toHaveLength(2);
    });

    it("close releases everything, and the client can be used again", async () => {
      await using subject = await open([ECHO]);
      await subject.client.callTool(echo());
      await subject.client.close();
      expect(subject.client.sessions()).toEqual([]);
      await eventually(() => subject.isClean());
      expect((await subject.client.callTool(echo("again"))).text()).toBe("again");
    });
  });
}
