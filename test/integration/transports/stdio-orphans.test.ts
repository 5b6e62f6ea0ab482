import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { echo } from "../../fixtures/clients.js";
import { createStdioClient, waitForExit } from "../../fixtures/stdio-servers.js";

const script = fileURLToPath(new URL("../../fixtures/stdio-parent.mjs", import.meta.url));

/** Runs a program that exits in this way, sends it a signal if given, and returns how it exited. */
async function runParent(ending: string, serverMode: string, signal?: NodeJS.Signals) {
  const parent = spawn(process.execPath, [script, ending, serverMode], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const exit = once(parent, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pids = JSON.parse(String(line)) as number[];
    if (signal !== undefined) parent.kill(signal);
    const [code, killedBy] = await exit;
    return { pids, status: code ?? killedBy };
  } finally {
    parent.kill("SIGKILL");
  }
}

describe(
  "no stdio server and no process that it started survives when the client process",
  { timeout: 60_000 },
  () => {
    it.concurrent.each([
      ["runs out of work", 4],
      ["calls process.exit", 3],
      ["throws", 1],
    ])("%s, with its exit code %s", async (ending, status) => {
      const parent = await runParent(ending, "stubborn");
      expect(parent.status).toBe(status);
      await waitForExit(...parent.pids);
    });

    it.concurrent.each(["SIGTERM", "SIGINT"] as const)("is terminated by %s", async (signal) => {
      const parent = await runParent("waits for a signal", "stubborn", signal);
      expect(parent.status).toBe(signal);
      await waitForExit(...parent.pids);
    });

    it.concurrent("handles SIGTERM itself and decides when to exit", async () => {
      const parent = await runParent("handles SIGTERM", "stubborn", "SIGTERM");
      expect(parent.status).toBe(5);
      await waitForExit(...parent.pids);
    });

    it.concurrent("has a SIGTERM listener like that of signal-exit, which yields to others", async () => {
      const parent = await runParent("has a listener that yields to others", "stubborn", "SIGTERM");
      expect(parent.status).toBe("SIGTERM");
      await waitForExit(...parent.pids);
    });

    it.concurrent("is killed and the server exits when its stdin closes", async () => {
      const parent = await runParent("waits for a signal", "plain", "SIGKILL");
      expect(parent.status).toBe("SIGKILL");
      await waitForExit(...parent.pids);
    });

    it.concurrent("stays alive only because it listens to the server", async () => {
      const parent = await runParent("listens to the server", "plain");
      expect(parent.status).toBe(6);
    });
  },
);

describe("the process listeners", () => {
  const counts = () => ["exit", "SIGTERM", "SIGINT", "SIGHUP"].map((name) => process.listenerCount(name));

  it("are registered once while any server runs, and removed with the last one", async () => {
    const before = counts();
    const clients = [createStdioClient(), createStdioClient()];
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
