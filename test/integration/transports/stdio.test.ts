import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createMcpTools, McpClient } from "../../../src/index.js";
import { echo, eventually, rejection, NO_RETRY, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import {
  EVERYTHING,
  getProcessInfo,
  isAlive,
  scriptServer,
  createStdioClient,
  stdioServer,
  waitForExit,
} from "../../fixtures/stdio-servers.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { BufferMonitor } from "../../fixtures/buffer-monitor.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "stdio-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A minimal server: `respond(request, say)` is called for each request except `initialize`. */
function rawServer(respond: string, prologue = "") {
  return scriptServer(`
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const respond = ${respond};
    ${prologue}
    require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === "initialize") say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "raw", version: "1" } } });
      else if (id !== undefined) respond({ id, method, params }, say);
    });
  `);
}

describe("a stdio server", () => {
  it("provides its tools to LangChain and is stopped by close", async () => {
    const mcp = await createMcpTools({ everything: EVERYTHING });
    const tool = mcp.tools.find(({ name }) => name === "everything__echo");
    expect(await tool?.invoke({ message: "hello" })).toBe("Echo: hello");
    expect(mcp.tools.length).toBeGreaterThan(5);
    await mcp.close();
    expect(process.listeners("SIGTERM")).toEqual([]);
  });

  it("starts with the first request, and close does not start it", async () => {
    const mark = join(folder, "started");
    const client = new McpClient({
      name: "lazy",
      ...scriptServer(`require("fs").writeFileSync(${JSON.stringify(mark)}, "")`),
    });
    await client.close();
    await client.close();
    expect(existsSync(mark)).toBe(false);
    const listed = createStdioClient();
    await listed.callTool(echo());
    await listed.close();
    await listed.close();
    expect(listed.sessions()).toEqual([]);
  });

  it("gets a minimal environment, the configured variables and its working directory", async () => {
    vi.stubEnv("STDIO_TEST_CANARY", "canary");
    await using client = createStdioClient({ env: { PORT: "7" }, cwd: folder });
    const { env, cwd } = await getProcessInfo(client);
    expect(env["STDIO_TEST_CANARY"]).toBeUndefined();
    expect([env["PORT"], env["PATH"], cwd]).toEqual(["7", process.env["PATH"], folder]);
  });

  it("may use another encoding, set by the definition", async () => {
    const raw = rawServer(`({ id, params }) => {
      const text = String(params.arguments.text === "ä😀") + "é";
      const response = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } };
      process.stdout.write(Buffer.from(JSON.stringify(response) + "\\n", "latin1"));
    }`);
    await using client = createStdioClient({ ...raw, encoding: "latin1" });
    expect((await client.callTool(echo("ä😀"))).text()).toBe("trueé");
  });

  it("may respond with a batch, with a string id, with malformed results, and with an error without an id", async () => {
    const raw = rawServer(`({ id, params }) => {
      const text = params.arguments.text;
      const result = { content: [{ type: "text", text }] };
      if (text === "list") process.stdout.write(JSON.stringify([{ jsonrpc: "2.0", id, result }]) + "\\r\\n\\r\\n");
      else if (text === "text") say({ id: String(id), result });
      else if (text === "nothing") say({ id, result: 3 });
      else if (text === "broken") process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{"a":oops}}\\n');
      else say({ id: null, error: { code: -32700, message: "cannot read that" } });
    }`);
    await using client = createStdioClient(raw);
    expect((await client.callTool(echo("list"))).text()).toBe("list");
    expect((await client.callTool(echo("text"))).text()).toBe("text");
    expect(await rejection(client.callTool(echo("nothing")))).toMatchObject({ kind: "invalid-response" });
    expect(await rejection(client.callTool(echo("broken")))).toMatchObject({ kind: "invalid-response" });
    expect(await rejection(client.callTool(echo("error")))).toMatchObject({ code: -32700 });
  });

  it("that writes non-protocol output to stdout causes one warning and keeps working", async () => {
    const logger = new RecordingLogger();
    const { lines } = logger;
    await using client = createStdioClient({}, { logger });
    for (const text of ["Loading model…\n", "still loading\n", "\n", '"text"\n', '{"level":"info"}\n'])
      await client.callTool({ name: "print", args: { text } });
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(lines.filter((line) => line.startsWith("warn:"))).toEqual([
      expect.stringContaining("non-protocol output to stdout (ignored): Loading model…"),
    ]);
    expect(lines.filter((line) => line.startsWith("debug:"))).toHaveLength(3);
  });

  it("is logged from stderr without secrets", async () => {
    const logger = new RecordingLogger();
    const { lines } = logger;
    const key = "first-line-of-key\nsecond-line-of-key";
    await using client = createStdioClient(
      { env: { API_KEY: key, OTHER: "plain" }, args: [...stdioServer().args, "--token", "canary-2"] },
      { logger },
    );
    const text = `started with ${key} and canary-2\nplain\n`;
    await client.callTool({ name: "writeStderr", args: { text } });
    await eventually(() => lines.length === 3);
    expect(lines).toEqual([
      'info: Server "child" on stderr: started with [redacted]',
      'info: Server "child" on stderr: [redacted] and [redacted]',
      'info: Server "child" on stderr: plain',
    ]);
  });
});

describe("a stdio server that exits", () => {
  it("is restarted by the next call, so that a held tool keeps working", async () => {
    await using mcp = await createMcpTools({ child: { ...stdioServer(), ...NO_RETRY } });
    const tool = (name: string) => mcp.tools.find((candidate) => candidate.name === `child__${name}`);
    const first = await getProcessInfo(mcp.clients.child);
    await expect(tool("crash")?.invoke({})).rejects.toMatchObject({ kind: "connection-lost" });
    expect(await tool("echo")?.invoke({ text: "again" })).toBe("again");
    const second = await getProcessInfo(mcp.clients.child);
    expect(second.pid).not.toBe(first.pid);
    await waitForExit(first.pid);
  });

  it("before it responds fails the call with its exit code and last stderr lines, without a retry", async () => {
    await using client = new McpClient({ name: "child", ...stdioServer() });
    const failure = await rejection(
      client.callTool({ name: "crash", args: { stderr: "out of memory", code: 9 } }),
    );
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
    expect(failure.message).toBe(
      'Server "child" exited with code 9 before it responded. It may have run the request.\n' +
        "On stderr:\n  out of memory",
    );
  });

  it("is retried for an idempotent call", async () => {
    await using client = createStdioClient({ retry: { maxRetries: 2, baseDelayMs: 1 } });
    const failure = await rejection(client.callTool({ name: "crash" }, { idempotent: true }));
    expect(failure).toMatchObject({ kind: "connection-lost", attempts: 3 });
  });

  it("while idle is logged and fails no call", async () => {
    const logger = new RecordingLogger();
    const { lines } = logger;
    await using client = createStdioClient({}, { logger });
    const { pid } = await getProcessInfo(client);
    process.kill(pid, "SIGKILL");
    await eventually(() => client.state !== "ready");
    expect(lines).toEqual([
      'warn: Server "child" was terminated by SIGKILL; the next request starts it again.',
    ]);
    expect((await client.callTool({ name: "exit" })).text()).toBe("bye");
    await eventually(() => client.state !== "ready");
    expect(lines[1]).toBe('info: Server "child" exited with code 0; the next request starts it again.');
    expect((await client.callTool(echo("back"))).text()).toBe("back");
  });

  it("during many calls fails each of them, and is restarted once for all following calls", async () => {
    await using client = createStdioClient();
    const { pid } = await getProcessInfo(client);
    const opened: number[] = [];
    client.on("sessionOpened", ({ generation }) => opened.push(generation));
    const waiting = times(20, () => rejection(client.callTool({ name: "hang" })));
    // A later request was answered, so the server has read these.
    await getProcessInfo(client);
    process.kill(pid, "SIGKILL");
    const kinds = (await Promise.all(waiting)).map(({ kind }) => kind);
    expect(kinds).toEqual(times(20, () => "connection-lost"));
    const pids = await Promise.all(times(20, () => getProcessInfo(client)));
    expect(new Set(pids.map((facts) => facts.pid)).size).toBe(1);
    expect(opened).toEqual([2]);
  });

  it("leaves no process that it started, even one that keeps its pipes open", async () => {
    const clock = new FakeClock();
    const client = createStdioClient({ timeouts: { requestMs: 0, totalMs: 0 } }, { clock });
    const helper = Number((await client.callTool({ name: "helper" })).text());
    const call = rejection(client.callTool({ name: "crash" }));
    await eventually(() => {
      clock.advance(100);
      return !isAlive(helper);
    });
    expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    await client.close();
    expect(clock.pending).toBe(0);
  });

  it("by closing its stdout only is stopped", async () => {
    await using client = createStdioClient(stdioServer("stays"));
    const { pid } = await getProcessInfo(client);
    const failure = await rejection(client.callTool({ name: "closeStdout" }));
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect(failure.message).toContain("closed its stdin or stdout");
    await waitForExit(pid);
  });
});

describe("a stdio server that cannot be started", () => {
  it.each([
    [
      "with an unknown command",
      { command: "no-such-command", args: [] },
      'the command "no-such-command" was not found. Check that it is installed and in a directory of PATH.',
    ],
    [
      "with its arguments in the command",
      { command: "no-such-command -y weather-mcp", args: [] },
      'Put its arguments into args: command: "no-such-command", args: […].',
    ],
    ["with a wrong path", { command: "./no/such/file" }, "Check the path."],
    ["with a file that is not executable", { command: "/etc/passwd" }, '"/etc/passwd" is not executable.'],
    ["with a missing directory", { cwd: "/no/such/folder" }, '"/no/such/folder" does not exist.'],
    [
      "that exits immediately",
      scriptServer(`console.error("API_KEY is not set"); process.exit(1)`),
      "exited with code 1 before it completed the handshake. Check that its command works in a terminal. It gets a minimal environment; set the variables that it needs in env.\nOn stderr:\n  API_KEY is not set",
    ],
    [
      "that is not an MCP server",
      { command: "true" },
      "exited with code 0 before it completed the handshake. Is it an MCP server? Check command and args. It wrote nothing to stdout.",
    ],
  ])("%s fails with a hint", async (_, definition, text) => {
    await using client = createStdioClient(definition);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", outcomeUnknown: false, attempts: 0 });
    expect(failure.message).toContain(text);
  });

  it("is not started by calls while the circuit is open, only by probes with growing delays", async () => {
    const file = join(folder, "starts");
    const code = `require("fs").appendFileSync(${JSON.stringify(file)}, "x"); process.exit(1)`;
    await using client = new McpClient(
      {
        name: "loop",
        ...scriptServer(code),
        retry: { maxRetries: 2, baseDelayMs: 1, maxDelayMs: 2 },
        circuitBreaker: { failureThreshold: 1 },
      },
      { logger: new RecordingLogger() },
    );
    const kinds: string[] = [];
    for (let call = 0; call < 5; call += 1) kinds.push((await rejection(client.callTool(echo()))).kind);
    // The first call waits for the probes after 250, 500 and 1,000 ms, the second one for the probe after 2,000 ms; the next
    // one is due too late to wait for.
    expect(kinds).toEqual(["not-sent", "circuit-open", "circuit-open", "circuit-open", "circuit-open"]);
    expect(readFileSync(file, "utf8")).toBe("xxxxx");
  });

  it("that does not respond fails with what it wrote to stderr", async () => {
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    const code = `console.error("Error: API_KEY is not set\\n    at start (index.js:1:1)\\nwaiting"); process.stdin.on("end", () => process.exit()).resume()`;
    const definition = { name: "silent", ...scriptServer(code), timeouts: { connectMs: 5_000 }, ...NO_RETRY };
    await using client = new McpClient(definition, { logger, clock });
    const failure = rejection(client.callTool(echo()));
    await eventually(() => logger.messages.some((message) => message.includes("waiting")));
    clock.advance(5_000);
    expect(await failure).toMatchObject({
      kind: "timeout",
      message:
        'Server "silent" did not finish the handshake within 5000 ms (timeouts.connectMs). Its process is still running. Is it an MCP server? Check command and args. It wrote nothing to stdout.\nOn stderr:\n  Error: API_KEY is not set\n  waiting',
    });
  });

  it("works once it can be started", async () => {
    const mark = join(folder, "installed");
    const code = `if (!require("fs").existsSync(${JSON.stringify(mark)})) process.exit(1);`;
    const raw = rawServer(`({ id }) => say({ id, result: { content: [] } })`, code);
    await using client = createStdioClient(raw);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
    const { writeFileSync } = await import("node:fs");
    writeFileSync(mark, "");
    expect((await client.callTool(echo())).content).toEqual([]);
  });
});

describe("a response that is too large", () => {
  const MEBIBYTE = 1024 * 1024;

  it.each([false, true])(
    "fails only its own call and uses bounded memory (id first: %s)",
    { timeout: 60_000 },
    async (idFirst) => {
      await using client = createStdioClient({ limits: { responseBytes: MEBIBYTE } });
      const { pid } = await getProcessInfo(client);
      using monitor = new BufferMonitor({ collects: true });
      const sibling = rejection(client.callTool({ name: "hang" }, { timeoutMs: 60_000 }));
      const failure = await rejection(
        client.callTool({ name: "flood", args: { bytes: 200 * MEBIBYTE, idFirst } }),
      );
      expect(failure).toMatchObject({ kind: "too-large", outcomeUnknown: true });
      expect(monitor.peakBytes).toBeLessThan(48 * MEBIBYTE);
      expect((await getProcessInfo(client)).pid).toBe(pid);
      process.kill(pid, "SIGKILL");
      expect(await sibling).toMatchObject({ kind: "connection-lost" });
    },
  );

  it("is accepted at exactly the limit", async () => {
    await using client = createStdioClient({ limits: { responseBytes: 10_000 } });
    const { text, content } = await client
      .callTool({ name: "repeat", args: { text: "x", times: 9_800 } })
      .then((result) => ({ text: result.text(), content: result.content }));
    expect([text.length, content.length]).toEqual([9_800, 1]);
  });
});

describe("a stdio server that does not read", () => {
  const LARGE = "x".repeat(4_000_000);

  it("has not received queued requests: they are reported as not sent or retried on the next process", async () => {
    await using client = createStdioClient();
    const { pid } = await getProcessInfo(client);
    process.kill(pid, "SIGSTOP");
    const large = rejection(client.callTool(echo(LARGE)));
    const small = client.callTool(echo("small"));
    const late = rejection(client.callTool(echo("late"), { timeoutMs: 50 }));
    expect(await late).toMatchObject({ kind: "timeout", outcomeUnknown: false });
    process.kill(pid, "SIGKILL");
    expect(await large).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect((await small).text()).toBe("small");
  });

  it("receives everything except cancelled requests once it reads", async () => {
    await using client = createStdioClient();
    const { pid } = await getProcessInfo(client);
    process.kill(pid, "SIGSTOP");
    const large = client.callTool(echo(LARGE));
    const cancelled = rejection(client.callTool({ name: "crash" }, { signal: AbortSignal.timeout(20) }));
    const small = client.callTool(echo("small"));
    expect(await cancelled).toMatchObject({ kind: "timeout", outcomeUnknown: false });
    process.kill(pid, "SIGCONT");
    expect((await large).text()).toBe(LARGE);
    expect((await small).text()).toBe("small");
  });
});

describe("closing a stdio server", () => {
  it("sends no signal to a server that exits when its stdin closes", async () => {
    const mark = join(folder, "ended");
    const raw = rawServer(
      `({ id }) => say({ id, result: { content: [] } })`,
      `process.stdin.on("end", () => require("fs").writeFileSync(${JSON.stringify(mark)}, "without a signal"));`,
    );
    const client = createStdioClient(raw);
    await client.callTool(echo());
    await client.close();
    expect(readFileSync(mark, "utf8")).toBe("without a signal");
  });

  it("kills a server that ignores signals, and the processes it started, in bounded time", async () => {
    const clock = new FakeClock();
    const client = createStdioClient(stdioServer("stubborn"), { clock });
    const { pid } = await getProcessInfo(client);
    const helper = Number((await client.callTool({ name: "helper" })).text());
    let isClosed = false;
    const closing = client.close().then(() => (isClosed = true));
    await eventually(() => clock.pending > 0);
    expect([isAlive(pid), isAlive(helper)]).toEqual([true, true]);
    const before = clock.now();
    await eventually(() => {
      clock.advance(100);
      return isClosed;
    });
    await closing;
    expect(clock.now() - before).toBeLessThan(6_000);
    await waitForExit(pid, helper);
    expect(clock.pending).toBe(0);
  });

  it("during its start leaves no process", async () => {
    const logger = new RecordingLogger();
    const { lines } = logger;
    const client = createStdioClient(
      scriptServer("console.error(process.pid); setInterval(() => {}, 1000)"),
      {
        logger,
      },
    );
    const call = rejection(client.callTool(echo()));
    await eventually(() => lines.length === 1);
    const pid = Number(lines[0]?.split(" ").at(-1));
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: false });
    expect(isAlive(pid)).toBe(false);
  });

  it("fails running calls, and the next call starts a new process", async () => {
    await using client = createStdioClient();
    const { pid } = await getProcessInfo(client);
    const call = rejection(client.callTool({ name: "hang" }));
    await eventually(() => client.sessions()[0]?.inFlight === 1);
    const closing = client.close();
    const next = await getProcessInfo(client);
    await closing;
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    expect(next.pid).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
  });
});
