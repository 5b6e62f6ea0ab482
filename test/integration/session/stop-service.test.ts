import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { deferred, eventually, rejection, times } from "../../fixtures/clients.js";
import { transpile } from "../../fixtures/transpile.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The service of docs/production.md, in a process of its own. It imports the built package. */
class Service implements AsyncDisposable {
  readonly exited: Promise<unknown[]>;
  readonly #child: ChildProcess;
  readonly #folder = mkdtempSync(join(root, "test/.service-"));
  #origin = "";

  private constructor(mcpUrl: string) {
    const page = readFileSync(join(root, "docs/production.md"), "utf8");
    const [, code = ""] = /```ts\n(\/\/ service\.mts\n[\s\S]*?)```/.exec(page) ?? [];
    const file = join(this.#folder, "service.mjs");
    writeFileSync(file, transpile(code));
    this.#child = spawn(process.execPath, [file], {
      cwd: root,
      env: { ...process.env, MCP_URL: mcpUrl, PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.exited = once(this.#child, "exit");
  }

  static async start(mcpUrl: string): Promise<Service> {
    const service = new Service(mcpUrl);
    const { stdout } = service.#child;
    if (stdout === null) throw new Error("no output");
    const [port] = (await once(createInterface(stdout), "line")) as [string];
    service.#origin = `http://127.0.0.1:${port}`;
    return service;
  }

  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(this.#origin + path);
    return { status: response.status, text: await response.text() };
  }

  terminate(): void {
    this.#child.kill("SIGTERM");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill("SIGKILL");
    await this.exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

it("a service that gets SIGTERM ends its calls in flight, refuses new ones and exits with 0", async () => {
  const gate = deferred();
  const slow = { name: "slow", run: async () => (await gate.promise, "done") };
  await using server = await startMcpTestServer({ tools: [slow] });
  await using service = await Service.start(server.url);
  await eventually(async () => (await service.get("/ready")).status === 200);
  const running = Promise.all(times(5, () => service.get("/slow")));
  await eventually(() => server.executions.length === 5);

  service.terminate();
  await eventually(async () => (await service.get("/ready")).status === 503);
  expect(await service.get("/slow")).toEqual({ status: 503, text: "stopping" });
  expect(server.openSessions).toHaveLength(1);

  gate.resolve();
  expect(await running).toEqual(times(5, () => ({ status: 200, text: "done" })));
  expect(await service.exited).toEqual([0, null]);
  expect(server.openSessions).toEqual([]);
  expect(server.executions).toHaveLength(5);
  await eventually(() => server.openSockets === 0);
});

it("a service starts while its server is down, is ready when the server is back, and responds 502 if a tool fails", async () => {
  const fail = { name: "fail", run: () => ({ content: [{ type: "text", text: "no" }], isError: true }) };
  await using server = await startMcpTestServer({ tools: [fail] });
  await server.stop();
  await using service = await Service.start(server.url);
  expect(await service.get("/ready")).toMatchObject({ status: 503 });
  await server.start();
  await eventually(async () => (await service.get("/ready")).status === 200);
  expect(await service.get("/fail")).toEqual({ status: 502, text: "no" });
  service.terminate();
  expect(await service.exited).toEqual([0, null]);
});

it("a toolset that is being closed rejects new calls while calls in flight end", async () => {
  const gate = deferred();
  const slow = { name: "slow", run: async () => (await gate.promise, "done") };
  await using server = await startMcpTestServer({ tools: [slow] });
  await using mcp = await createMcpTools({ srv: { url: server.url, session: { drainMs: 20_000 } } });
  const running = mcp.callTool({ name: "srv__slow" });
  await eventually(() => server.executions.length === 1);
  const closing = mcp.close();
  expect(await rejection(mcp.callTool({ name: "srv__slow" }))).toMatchObject({ kind: "closed" });
  gate.resolve();
  expect((await running).text()).toBe("done");
  await closing;
  expect(server.executions).toHaveLength(1);
  expect(server.openSessions).toEqual([]);
});
