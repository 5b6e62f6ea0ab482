import { describe, expect, it } from "vitest";
import { createMcpTools, createMcpToolsForServer, McpClient } from "../../../src/index.js";
import { McpServerManager, ToolRegistry } from "../../../src/manager/index.js";
import type { KeyValueStore } from "../../../src/stores/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const SERVERS = 2_000;
const TOOL_SETS = 10_000;
/** Thousands of anything take seconds on a busy machine. */
const PATIENT = { timeout: 120_000 };

/** How many of the objects are still referenced. A few may be on the stack. */
function countAlive(refs: readonly WeakRef<object>[]): number {
  collectGarbage();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}

/** Lets finished promises release what they hold. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("2,000 servers that were added and removed", PATIENT, () => {
  const LAZY = { url: "http://127.0.0.1:9/mcp", lazy: true } as const;

  it("are released by a toolset, with what listens to them", async () => {
    await using mcp = await createMcpTools(
      { stays: { server: new McpTestServer() } },
      { logger: new RecordingLogger() },
    );
    mcp.on("requestEnded", () => undefined);
    mcp.on("toolsChanged", () => undefined);
    const refs: WeakRef<object>[] = [];
    for (const n of times(SERVERS, (index) => index)) {
      const name = `s${n % 7}`;
      await mcp.servers.add(name, LAZY);
      refs.push(new WeakRef(mcp.servers.serverSet.get(name)));
      await mcp.servers.remove(name);
    }
    await settle();
    expect(countAlive(refs)).toBeLessThan(10);
  });

  it("are released by a registry, and by a store with a change feed", async () => {
    let listeners = 0;
    const store: KeyValueStore = {
      get: async () => undefined,
      set: async () => undefined,
      delete: async () => undefined,
      list: async () => [],
      watch: async () => {
        listeners += 1;
        return async () => void (listeners -= 1);
      },
      close: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
    await using manager = new McpServerManager({}, { cache: { store } });
    const toolset = {
      get clients() {
        return Object.fromEntries(manager.clients);
      },
    };
    await using registry = new ToolRegistry(toolset, { stores: [store] });
    const refs: WeakRef<object>[] = [];
    // Each caller has tools of its own, so the registry lists none of these servers.
    const identity = () => "alice";
    for (const n of times(SERVERS, (index) => index)) {
      await manager.add(`s${n}`, { ...LAZY, identity });
      await registry.records();
      refs.push(new WeakRef(manager.serverSet.get(`s${n}`)));
      await manager.remove(`s${n}`);
    }
    await settle();
    expect(countAlive(refs)).toBeLessThan(10);
    expect(listeners).toBe(0);
  });
});

describe("10,000 sets of tools of one client", PATIENT, () => {
  it("are released, with what listens to the client", async () => {
    await using client = new McpClient({ name: "weather", server: new McpTestServer() });
    const resource = {
      name: "weather",
      availableTools: [{ name: "echo", description: "Echoes.", inputSchema: { type: "object" } }],
    };
    const create = () => new WeakRef(createMcpToolsForServer(resource, { client }));
    for (const _ of times(100, create)) await settle();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const refs = times(TOOL_SETS, create);
    await settle();
    expect(countAlive(refs)).toBeLessThan(10);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(TOOL_SETS * 500);
  });
});
