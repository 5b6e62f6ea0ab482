import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMcpTools, type Logger, McpClient } from "../../../src/index.js";
import { echo, eventually, failureOf, ONCE, times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import {
  EVERYTHING,
  factsOf,
  isAlive,
  scriptServer,
  stdioClient,
  stdioServer,
  untilGone,
} from "../../fixtures/stdio-servers.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "stdio-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function recordingLogger() {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { lines, logger };
}

/** A server of a few lines: `answer(request, say)` is called for each request but the handshake. */
function rawServer(answer: string, prologue = "") {
  return scriptServer(`
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const answer = ${answer};
    ${prologue}
    require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === "initialize") say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "raw", version: "1" } } });
      else if (id !== undefined) answer({ id, method, params }, say);
    });
  `);
}

describe("a stdio server", () => {
  it("gives its tools to LangChain and is gone after close", async () => {
    const mcp = await createMcpTools({ everything: EVERYTHING });
    const tool = mcp.tools.find(({ name }) => name === "everything__echo");
    expect(await tool?.invoke({ message: "hello" })).toBe("Echo: hello");
    expect(mcp.tools.length).toBeGreaterThan(5);
    await mcp.close();
    expect(process.listeners("SIGTERM")).toEqual([]);
  });

  it("starts with the first request, and close starts nothing", async () => {
    const mark = join(folder, "started");
    const client = new McpClient({
      name: "lazy",
      ...scriptServer(`require("fs").writeFileSync(${JSON.stringify(mark)}, "")`),
    });
    await client.close();
    await client.close();
    expect(existsSync(mark)).toBe(false);
    const listed = stdioClient();
    await listed.callTool(echo());
    await listed.close();
    await listed.close();
    expect(listed.sessions()).toEqual([]);
  });

  it("gets a clean environment, its own variables and its directory", async () => {
    process.env["STDIO_TEST_CANARY"] = "canary";
    await using client = stdioClient({ env: { PORT: "7" }, cwd: folder });
    const { env, cwd } = await factsOf(client);
    delete process.env["STDIO_TEST_CANARY"];
    expect(env["STDIO_TEST_CANARY"]).toBeUndefined();
    expect([env["PORT"], env["PATH"], cwd]).toEqual(["7", process.env["PATH"], folder]);
  });

  it("speaks another encoding where its definition says so", async () => {
    const raw = rawServer(`({ id, params }) => {
      const text = String(params.arguments.text === "ä😀") + "é";
      const answer = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } };
      process.stdout.write(Buffer.from(JSON.stringify(answer) + "\\n", "latin1"));
    }`);
    await using client = stdioClient({ ...raw, encoding: "latin1" });
    expect((await client.callTool(echo("ä😀"))).text()).toBe("trueé");
  });

  it("may answer with a list, with its number as a text, with nonsense, and with an error that names no request", async () => {
    const raw = rawServer(`({ id, params }) => {
      const text = params.arguments.text;
      const result = { content: [{ type: "text", text }] };
      if (text === "list") process.stdout.write(JSON.stringify([{ jsonrpc: "2.0", id, result }]) + "\\r\\n\\r\\n");
      else if (text === "text") say({ id: String(id), result });
      else if (text === "nothing") say({ id, result: 3 });
      else if (text === "broken") process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{"a":oops}}\\n');
      else say({ id: null, error: { code: -32700, message: "cannot read that" } });
    }`);
    await using client = stdioClient(raw);
    expect((await client.callTool(echo("list"))).text()).toBe("list");
    expect((await client.callTool(echo("text"))).text()).toBe("text");
    expect(await failureOf(client.callTool(echo("nothing")))).toMatchObject({ kind: "invalid-response" });
    expect(await failureOf(client.callTool(echo("broken")))).toMatchObject({ kind: "invalid-response" });
    expect(await failureOf(client.callTool(echo("error")))).toMatchObject({ code: -32700 });
  });

  it("that prints something else on stdout is warned about once, and used all the same", async () => {
    const { lines, logger } = recordingLogger();
    await using client = stdioClient({}, { logger });
    for (const text of ["Loading model…\n", "still loading\n", "\n", '"text"\n', '{"level":"info"}\n'])
      await client.callTool({ name: "print", args: { text } });
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(lines.filter((line) => line.startsWith("warn:"))).toEqual([
      expect.stringContaining("no message: Loading model…"),
    ]);
    expect(lines.filter((line) => line.startsWith("debug:"))).toHaveLength(3);
  });

  it("speaks to the logger on stderr, without secrets", async () => {
    const { lines, logger } = recordingLogger();
    const key = "first-line-of-key\nsecond-line-of-key";
    await using client = stdioClient(
      { env: { API_KEY: key, OTHER: "plain" }, args: [...stdioServer().args, "--token", "canary-2"] },
      { logger },
    );
    const text = `started with ${key} and canary-2\nplain\n`;
    await client.callTool({ name: "complain", args: { text } });
    await eventually(() => lines.length === 3);
    expect(lines).toEqual([
      'info: Server "child" on stderr: started with [redacted]',
      'info: Server "child" on stderr: [redacted] and [redacted]',
      'info: Server "child" on stderr: plain',
    ]);
  });
});

describe("a stdio server that dies", () => {
  it("is started again by the next call: a held tool goes on working", async () => {
    await using mcp = await createMcpTools({ child: { ...stdioServer(), ...ONCE } });
    const tool = (name: string) => mcp.tools.find((candidate) => candidate.name === `child__${name}`);
    const first = await factsOf(mcp.clients.child);
    await expect(tool("crash")?.invoke({})).rejects.toMatchObject({ kind: "connection-lost" });
    expect(await tool("echo")?.invoke({ text: "again" })).toBe("again");
    const second = await factsOf(mcp.clients.child);
    expect(second.pid).not.toBe(first.pid);
    await untilGone(first.pid);
  });

  it("before it answers fails the call at once, with its exit code and last words, and is not asked again", async () => {
    await using client = new McpClient({ name: "child", ...stdioServer() });
    const failure = await failureOf(
      client.callTool({ name: "crash", args: { say: "out of memory", code: 9 } }),
    );
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
    expect(failure.message).toBe(
      'Server "child" ended with exit code 9 before it answered. It may have run the request.\n' +
        "Its last lines on stderr:\n  out of memory",
    );
  });

  it("is asked again where that does no harm", async () => {
    await using client = stdioClient({ retry: { maxRetries: 2, baseDelayMs: 1 } });
    const failure = await failureOf(client.callTool({ name: "crash" }, { idempotent: true }));
    expect(failure).toMatchObject({ kind: "connection-lost", attempts: 3 });
  });

  it("while nobody waits is told as a warning, after its answer as well, and costs no call", async () => {
    const { lines, logger } = recordingLogger();
    await using client = stdioClient({}, { logger });
    const { pid } = await factsOf(client);
    process.kill(pid, "SIGKILL");
    await eventually(() => client.state !== "ready");
    expect(lines).toEqual(['warn: Server "child" was ended by SIGKILL; the next request starts it again.']);
    expect((await client.callTool({ name: "leave" })).text()).toBe("bye");
    await eventually(() => client.state !== "ready");
    expect(lines[1]).toBe('info: Server "child" ended with exit code 0; the next request starts it again.');
    expect((await client.callTool(echo("back"))).text()).toBe("back");
  });

  it("while many calls are on their way fails each of them, and is started once for all that follow", async () => {
    await using client = stdioClient();
    const { pid } = await factsOf(client);
    const opened: number[] = [];
    client.on("sessionOpened", ({ generation }) => opened.push(generation));
    const waiting = times(20, () => failureOf(client.callTool({ name: "hang" })));
    // What comes after them is answered: they have been read.
    await factsOf(client);
    process.kill(pid, "SIGKILL");
    const kinds = (await Promise.all(waiting)).map(({ kind }) => kind);
    expect(kinds).toEqual(times(20, () => "connection-lost"));
    const pids = await Promise.all(times(20, () => factsOf(client)));
    expect(new Set(pids.map((facts) => facts.pid)).size).toBe(1);
    expect(opened).toEqual([2]);
  });

  it("leaves nothing that it started, and nobody waits for who holds its pipes", async () => {
    const clock = new FakeClock();
    const client = stdioClient({ timeouts: { requestMs: 0, totalMs: 0 } }, { clock });
    const helper = Number((await client.callTool({ name: "helper" })).text());
    const call = failureOf(client.callTool({ name: "crash" }));
    await eventually(() => {
      clock.advance(100);
      return !isAlive(helper);
    });
    expect(await call).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    await client.close();
    expect(clock.pending).toBe(0);
  });

  it("to us, by closing its output, is ended", async () => {
    await using client = stdioClient(stdioServer("stays"));
    const { pid } = await factsOf(client);
    const failure = await failureOf(client.callTool({ name: "closeStdout" }));
    expect(failure).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect(failure.message).toContain("closed its input or output");
    await untilGone(pid);
  });
});

describe("a stdio server that cannot be started", () => {
  it.each([
    [
      "whose command is unknown",
      { command: "no-such-command", args: [] },
      'the command "no-such-command" was not found. Is it installed, and in a directory of PATH?',
    ],
    ["whose path is wrong", { command: "./no/such/file" }, "Is the path right?"],
    ["whose file is no program", { command: "/etc/passwd" }, '"/etc/passwd" may not be executed.'],
    ["whose directory is missing", { cwd: "/no/such/folder" }, '"/no/such/folder" does not exist.'],
    [
      "that ends at once",
      scriptServer(`console.error("API_KEY is not set"); process.exit(1)`),
      "ended with exit code 1 before it answered the handshake. Does its command work in a terminal? It gets a clean environment: name what it needs in env.\nIts last lines on stderr:\n  API_KEY is not set",
    ],
    ["that is no server", { command: "true" }, "ended with exit code 0 before it answered"],
  ])("%s fails with what to do", async (_, definition, text) => {
    await using client = stdioClient(definition);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", outcomeUnknown: false, attempts: 0 });
    expect(failure.message).toContain(text);
  });

  it("is tried no more often than the policies allow, and then left alone", async () => {
    const file = join(folder, "starts");
    const code = `require("fs").appendFileSync(${JSON.stringify(file)}, "x"); process.exit(1)`;
    await using client = new McpClient(
      { name: "loop", ...scriptServer(code), retry: { maxRetries: 2, baseDelayMs: 1, maxDelayMs: 2 } },
      { logger: recordingLogger().logger },
    );
    const kinds: string[] = [];
    for (let call = 0; call < 5; call += 1) kinds.push((await failureOf(client.callTool(echo()))).kind);
    expect(kinds).toEqual(["not-sent", "not-sent", "circuit-open", "circuit-open", "circuit-open"]);
    expect(readFileSync(file, "utf8")).toBe("xxxxx");
  });

  it("may be used once it can", async () => {
    const mark = join(folder, "installed");
    const code = `if (!require("fs").existsSync(${JSON.stringify(mark)})) process.exit(1);`;
    const raw = rawServer(`({ id }) => say({ id, result: { content: [] } })`, code);
    await using client = stdioClient(raw);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
    const { writeFileSync } = await import("node:fs");
    writeFileSync(mark, "");
    expect((await client.callTool(echo())).content).toEqual([]);
  });
});

describe("an answer that is too large", () => {
  const MEBIBYTE = 1024 * 1024;

  it.each([false, true])(
    "costs its call and nobody else's, and no more memory than the limit (id first: %s)",
    { timeout: 60_000 },
    async (idFirst) => {
      await using client = stdioClient({ limits: { responseBytes: MEBIBYTE } });
      const { pid } = await factsOf(client);
      let peak = 0;
      const before = process.memoryUsage().arrayBuffers;
      const watch = setInterval(() => {
        collectGarbage();
        peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
      }, 50);
      const sibling = failureOf(client.callTool({ name: "hang" }, { timeoutMs: 60_000 }));
      const failure = await failureOf(
        client.callTool({ name: "flood", args: { bytes: 200 * MEBIBYTE, idFirst } }),
      );
      clearInterval(watch);
      expect(failure).toMatchObject({ kind: "too-large", outcomeUnknown: true });
      expect(peak).toBeLessThan(48 * MEBIBYTE);
      expect((await factsOf(client)).pid).toBe(pid);
      process.kill(pid, "SIGKILL");
      expect(await sibling).toMatchObject({ kind: "connection-lost" });
    },
  );

  it("of exactly the limit is read", async () => {
    await using client = stdioClient({ limits: { responseBytes: 10_000 } });
    const { text, content } = await client
      .callTool({ name: "repeat", args: { text: "x", times: 9_800 } })
      .then((result) => ({ text: result.text(), content: result.content }));
    expect([text.length, content.length]).toEqual([9_800, 1]);
  });
});

describe("a stdio server that does not read", () => {
  const LARGE = "x".repeat(4_000_000);

  it("has not seen what is still waiting here: that is said, and sent to the next one", async () => {
    await using client = stdioClient();
    const { pid } = await factsOf(client);
    process.kill(pid, "SIGSTOP");
    const large = failureOf(client.callTool(echo(LARGE)));
    const small = client.callTool(echo("small"));
    const late = failureOf(client.callTool(echo("late"), { timeoutMs: 50 }));
    expect(await late).toMatchObject({ kind: "timeout", outcomeUnknown: false });
    process.kill(pid, "SIGKILL");
    expect(await large).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect((await small).text()).toBe("small");
  });

  it("gets all of it once it reads, but what was cancelled", async () => {
    await using client = stdioClient();
    const { pid } = await factsOf(client);
    process.kill(pid, "SIGSTOP");
    const large = client.callTool(echo(LARGE));
    const cancelled = failureOf(client.callTool({ name: "crash" }, { signal: AbortSignal.timeout(20) }));
    const small = client.callTool(echo("small"));
    expect(await cancelled).toMatchObject({ kind: "timeout", outcomeUnknown: false });
    process.kill(pid, "SIGCONT");
    expect((await large).text()).toBe(LARGE);
    expect((await small).text()).toBe("small");
  });
});

describe("closing a stdio server", () => {
  it("ends one that ends at the end of its input without a signal", async () => {
    const mark = join(folder, "ended");
    const raw = rawServer(
      `({ id }) => say({ id, result: { content: [] } })`,
      `process.stdin.on("end", () => require("fs").writeFileSync(${JSON.stringify(mark)}, "by itself"));`,
    );
    const client = stdioClient(raw);
    await client.callTool(echo());
    await client.close();
    expect(readFileSync(mark, "utf8")).toBe("by itself");
  });

  it("ends one that listens to nothing, with what it started, in bounded time", async () => {
    const clock = new FakeClock();
    const client = stdioClient(stdioServer("stubborn"), { clock });
    const { pid } = await factsOf(client);
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
    await untilGone(pid, helper);
    expect(clock.pending).toBe(0);
  });

  it("in the middle of its start leaves nothing", async () => {
    const { lines, logger } = recordingLogger();
    const client = stdioClient(scriptServer("console.error(process.pid); setInterval(() => {}, 1000)"), {
      logger,
    });
    const call = failureOf(client.callTool(echo()));
    await eventually(() => lines.length === 1);
    const pid = Number(lines[0]?.split(" ").at(-1));
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: false });
    expect(isAlive(pid)).toBe(false);
  });

  it("ends calls on their way, and the next one begins anew", async () => {
    await using client = stdioClient();
    const { pid } = await factsOf(client);
    const call = failureOf(client.callTool({ name: "hang" }));
    await eventually(() => client.sessions()[0]?.inFlight === 1);
    const closing = client.close();
    const next = await factsOf(client);
    await closing;
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    expect(next.pid).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
  });
});
