import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { echo } from "../../fixtures/clients.js";
import { stdioClient, untilGone } from "../../fixtures/stdio-servers.js";

const script = fileURLToPath(new URL("../../fixtures/stdio-parent.mjs", import.meta.url));

/** Runs a program that ends in this way, with a signal where it waits for one, and tells how it ended. */
async function endingOf(ending: string, serverMode: string, signal?: NodeJS.Signals) {
  const parent = spawn(process.execPath, [script, ending, serverMode], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const ended = once(parent, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pids = JSON.parse(String(line)) as number[];
    if (signal !== undefined) parent.kill(signal);
    const [code, by] = await ended;
    return { pids, how: code ?? by };
  } finally {
    parent.kill("SIGKILL");
  }
}

describe(
  "no stdio server is left, nor what it started, when its client's process",
  { timeout: 60_000 },
  () => {
    it.concurrent.each([
      ["runs out of work", 4],
      ["calls process.exit", 3],
      ["throws", 1],
    ])("%s, which still ends with %s", async (ending, how) => {
      const ended = await endingOf(ending, "stubborn");
      expect(ended.how).toBe(how);
      await untilGone(...ended.pids);
    });

    it.concurrent.each(["SIGTERM", "SIGINT"] as const)(
      "is ended by %s, which still ends it",
      async (signal) => {
        const ended = await endingOf("waits for a signal", "stubborn", signal);
        expect(ended.how).toBe(signal);
        await untilGone(...ended.pids);
      },
    );

    it.concurrent("handles SIGTERM itself, which is left to it", async () => {
      const ended = await endingOf("handles SIGTERM", "stubborn", "SIGTERM");
      expect(ended.how).toBe(5);
      await untilGone(...ended.pids);
    });

    it.concurrent("has a listener of SIGTERM that steps aside for others", async () => {
      const ended = await endingOf("has a listener that steps aside", "stubborn", "SIGTERM");
      expect(ended.how).toBe("SIGTERM");
      await untilGone(...ended.pids);
    });

    it.concurrent("is killed, if the server ends at the end of its input", async () => {
      const ended = await endingOf("waits for a signal", "plain", "SIGKILL");
      expect(ended.how).toBe("SIGKILL");
      await untilGone(...ended.pids);
    });

    it.concurrent("listens to the server: that alone keeps it at work", async () => {
      const ended = await endingOf("listens to the server", "plain");
      expect(ended.how).toBe(6);
    });
  },
);

describe("the listeners that see to that", () => {
  const counts = () => ["exit", "SIGTERM", "SIGINT", "SIGHUP"].map((name) => process.listenerCount(name));

  it("are there while a server is, whatever their number, and no longer", async () => {
    const before = counts();
    const clients = [stdioClient(), stdioClient()];
    expect(counts()).toEqual(before);
    const results = await Promise.all(clients.map((client) => client.callTool(echo("x"))));
    expect(results.map((result) => result.text())).toEqual(["x", "x"]);
    expect(counts()).toEqual(before.map((count) => count + 1));
    await clients[0]?.close();
    expect(counts()).toEqual(before.map((count) => count + 1));
    await clients[1]?.close();
    expect(counts()).toEqual(before);
  });
});
