import { describe, expect, it } from "vitest";
import { KnownTools } from "../../../src/catalogue/known-tools.js";
import { Cancellation } from "../../../src/concurrency/cancellation.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, failureOf, times } from "../../support/clients.js";
import { FakeClock } from "../../support/fake-clock.js";

const MINUTE_MS = 60_000;
const tool = (name: string) => ({ name, run: () => "ok" });
const nobody = () => new Cancellation();

async function start() {
  const server = await startMcpTestServer({ tools: [tool("here")] });
  const client = clientOf(server);
  const clock = new FakeClock();
  const known = new KnownTools(client, clock);
  return {
    server,
    clock,
    lacks: (name: string, cancellation = nobody()) => known.lacks(name, cancellation),
    lists: () => server.received("tools/list").length,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

describe("which tools a server has", () => {
  it("is told by its list, asked for once for all who want to know", async () => {
    await using scene = await start();
    const asked = times(10, () => [scene.lacks("here"), scene.lacks("gone")]).flat();
    expect(await Promise.all(asked)).toEqual(times(10, () => [false, true]).flat());
    expect(scene.lists()).toBe(1);
    expect(scene.clock.pending).toBe(0);
  });

  it("is asked again no sooner than after a minute", async () => {
    await using scene = await start();
    await scene.lacks("late");
    scene.server.tools = [tool("late")];
    scene.clock.advance(MINUTE_MS - 1);
    expect(await scene.lacks("late")).toBe(true);
    expect(scene.lists()).toBe(1);
    scene.clock.advance(1);
    expect(await scene.lacks("late")).toBe(false);
    expect(await scene.lacks("here")).toBe(true);
    expect(scene.lists()).toBe(2);
  });

  it("is not told by an older list when the new one cannot be had", async () => {
    await using scene = await start();
    expect(await scene.lacks("gone")).toBe(true);
    scene.server.addFault({ type: "status", status: 500 }, { on: "tools/list" });
    scene.clock.advance(MINUTE_MS);
    expect(await scene.lacks("gone")).toBe(false);
    expect(await scene.lacks("gone")).toBe(false);
    expect(scene.lists()).toBe(2);
  });

  it("is not waited for for ever, nor by who has gone away", async () => {
    await using scene = await start();
    const mend = scene.server.addFault({ type: "hang" }, { on: "tools/list" });
    const cancellation = nobody();
    const left = failureOf(scene.lacks("gone", cancellation));
    const patient = scene.lacks("gone");
    await scene.server.waitFor("tools/list");
    cancellation.cancel("enough");
    expect(await left).toBe("enough");
    scene.clock.advance(5_000);
    expect(await patient).toBe(false);
    expect(scene.clock.pending).toBe(0);
    mend();
  });
});
