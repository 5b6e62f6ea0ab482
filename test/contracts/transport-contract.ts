import { describe, expect, it } from "vitest";
import type { McpClient } from "../../src/index.js";
import type { McpTestServer, TestTool } from "../../src/testing/index.js";
import { echo, eventually, failureOf, gate, times } from "../fixtures/clients.js";

/** A server that is reached over one kind of transport, and its client. */
export interface ContractSubject extends AsyncDisposable {
  readonly server: Pick<McpTestServer, "executions" | "openSessions" | "openSockets">;
  readonly client: McpClient;
  /** Nothing of the client is left on the server's side. */
  readonly isLeft: () => boolean;
  /** The server dies: everything that is connected to it breaks. */
  readonly kill: () => Promise<void>;
  /** It can be reached again, and remembers nothing. */
  readonly revive: () => Promise<void>;
}

const ECHO: TestTool = { name: "echo", run: ({ text }) => String(text) };

/** What every transport keeps, whatever it is made of. */
export function describeTransport(
  name: string,
  open: (tools: readonly TestTool[]) => Promise<ContractSubject>,
): void {
  describe(`the transport contract: ${name}`, () => {
    it("a call gets its answer", async () => {
      await using subject = await open([ECHO]);
      expect((await subject.client.callTool(echo("hi"))).text()).toBe("hi");
      expect(subject.client.state).toBe("ready");
    });

    it("200 concurrent calls get each their own, in whatever order they end", async () => {
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

    it("messages of megabytes travel both ways", async () => {
      await using subject = await open([ECHO]);
      const text = "ä€😀\n".repeat(200_000);
      expect((await subject.client.callTool(echo(text))).text()).toBe(text);
    });

    it("a cancelled call rejects with its reason, and its sibling does not notice", async () => {
      const { opened, open: openGate } = gate();
      await using subject = await open([{ name: "slow", run: async () => (await opened, "slow") }]);
      await subject.client.ensureSession();
      const controller = new AbortController();
      const cancelled = failureOf(subject.client.callTool({ name: "slow" }, { signal: controller.signal }));
      const sibling = subject.client.callTool({ name: "slow" });
      await eventually(() => subject.server.executions.length === 2);
      controller.abort("enough");
      expect(await cancelled).toBe("enough");
      openGate();
      expect((await sibling).text()).toBe("slow");
    });

    it("a server that dies before a call costs nothing once it is back", async () => {
      await using subject = await open([ECHO]);
      await subject.client.callTool(echo());
      await subject.kill();
      await subject.revive();
      expect((await subject.client.callTool(echo("back"))).text()).toBe("back");
      expect(subject.server.executions).toHaveLength(2);
    });

    it("a server that dies during a call fails it at once, and it is not repeated", async () => {
      const { opened, open: openGate } = gate();
      await using subject = await open([{ name: "slow", run: async () => (await opened, "slow") }]);
      await subject.client.ensureSession();
      const call = failureOf(subject.client.callTool({ name: "slow" }));
      await eventually(() => subject.server.executions.length === 1);
      await subject.kill();
      expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
      await subject.revive();
      openGate();
      expect((await subject.client.callTool({ name: "slow" })).text()).toBe("slow");
      expect(subject.server.executions).toHaveLength(2);
    });

    it("close leaves nothing, and the client can be used again", async () => {
      await using subject = await open([ECHO]);
      await subject.client.callTool(echo());
      await subject.client.close();
      expect(subject.client.sessions()).toEqual([]);
      await eventually(() => subject.isLeft());
      expect((await subject.client.callTool(echo("again"))).text()).toBe("again");
    });
  });
}
