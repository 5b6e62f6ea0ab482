import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runPrograms } from "./fixtures/program-runner.js";
import { HAS_REDIS, RedisServer } from "./fixtures/redis-server.js";
import { transpile } from "./fixtures/transpile.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "examples");
const files = readdirSync(folder);
const observability = readFileSync(join(root, "docs/observability.md"), "utf8");
const examples = files.filter((name) => /\.(?:ts|mjs)$/.test(name));

/** Run from source, like `npm run demo`. */
const DEMO = "restart-in-the-middle.ts";
const REDIS_EXAMPLE = "worker-with-redis.ts";
/** Examples that are set up for a whole process: by signals, by environment variables or by global providers. */
const ALONE = [DEMO, REDIS_EXAMPLE, "opentelemetry.ts", "lambda.ts"];

/** The whole output of each example, by line. */
const OUTPUTS: Record<string, readonly unknown[]> = {
  "approval.ts": [
    'approval required: bank__pay {"to":"Ann","amount":50}',
    'approval required: bank__pay {"to":"Bob","amount":5000}',
    "executed so far: 0",
    "executed: get_balance {}",
    'executed: pay {"to":"Ann","amount":50}',
    "I paid Ann. The payment to Bob was rejected.",
  ],
  "create-agent.ts": [
    "human: Print my twelve pages.",
    "ai: Print my twelve pages.",
    'tool: Tool "office__print" failed: The arguments of tool "print" are invalid; the tool was not called:',
    '- pages: expected a whole number, got a string ("twelve")',
    "Correct the arguments and call the tool again.",
    'ai: Print my twelve pages.-Print my twelve pages.-Tool "office__print" failed: The arguments of tool "print" are invalid; the tool was not called:',
    '- pages: expected a whole number, got a string ("twelve")',
    "Correct the arguments and call the tool again.",
    "tool: Out of paper: at most 10 pages.",
    'ai: Print my twelve pages.-Print my twelve pages.-Tool "office__print" failed: The arguments of tool "print" are invalid; the tool was not called:',
    '- pages: expected a whole number, got a string ("twelve")',
    'Correct the arguments and call the tool again.-Print my twelve pages.-Print my twelve pages.-Tool "office__print" failed: The arguments of tool "print" are invalid; the tool was not called:',
    '- pages: expected a whole number, got a string ("twelve")',
    "Correct the arguments and call the tool again.-Out of paper: at most 10 pages.",
    "tool: printed 10 pages",
    "ai: I printed ten of the twelve pages.",
  ],
  "lambda.ts": [
    "1. tools: report",
    "2. Oslo: 7 °C, light rain",
    '3. server-error: Function "reports" of server "reports" failed while running (TypeError): unknown city',
    "4. cancelled: no longer needed. The function was invoked 3 times for 3 tool calls.",
  ],
  "hot-reload.ts": [
    "human: What is the weather?",
    "ai: What is the weather?",
    "tool: rain",
    "ai: It is raining.",
    "current tools: weather__forecast, weather__umbrellas",
    "human: Where can I get an umbrella?",
    "ai: Where can I get an umbrella?",
    "tool: three in Oslo",
    'tool: The tool "weather__radar" no longer exists and was not called. Continue without it.',
    "ai: There are three umbrellas in Oslo.",
  ],
  "drift-report.ts": [
    "before any change: same",
    "after a new release: changed",
    "  + tide_table",
    "  - tides",
    "  ~ forecast (breaking), description changed",
    "      days: required",
    "while the server is down: unreachable",
  ],
  "manager-in-a-graph.ts": [
    "1. With one server.",
    "   sun",
    "   Sunny.",
    "2. The same graph after one server was added and one disconnected.",
    "   news: connecting",
    "   news: connected",
    "   weather: disconnected",
    "   no news today",
    '   The tool "weather__forecast" no longer exists and was not called. Continue without it.',
    "   There is no news today; the weather service is disconnected.",
    "   news: disconnected",
  ],
  "many-servers.ts": [
    "1. weather__forecast, library__search; library: connecting",
    "2. the call waited for the server: three books",
    "3. weather__forecast, library__search, news__headlines",
    "4. weather__forecast, weather__tides, library__search, news__headlines",
    '5. Server "library" is disconnected. Connect it again before using it.',
  ],
  "opentelemetry.ts": [
    "invoke_agent travel",
    "  tools/call forecast  attempts: 3",
    "    * langchain_mcp.retry: unavailable",
    "    * langchain_mcp.session_lost",
    "    initialize",
    "  tools/call book  attempts: 1",
  ],
  "plain-javascript.mjs": ["hello"],
  "mcp-apps.ts": [
    "1. tools for the model: weather__forecast",
    '2. the model sees: 7 °C; the artifact has: {"resourceUri":"ui://weather/forecast"}',
    "3. the host serves: <!doctype html><h1>Forecast</h1>, text/html; charset=utf-8",
    '4. and sends it: {"jsonrpc":"2.0","method":"ui/notifications/tool-result","params":{"content":[{"type":"text","text":"7 °C"}],"structuredContent":{"celsius":7}}}',
  ],
  "resources-and-prompts.ts": [
    "1. menu: soup, fish",
    "2. human: Order for four guests.",
    "2. ai: Prices are in euros.-Order for four guests.",
    "2. tool: soup, fish",
    "2. ai: Fish for four, please.",
    "3. menu:today was updated: soup, fish, cake",
  ],
  "restart-in-the-middle.ts": [
    "   (the server is restarted)",
    "   (the server has lost the session)",
    "   (a new session is opened)",
    "human: Is it warmer in Oslo or in Rome?",
    "tool: Oslo: 7 °C",
    "tool: Rome: 7 °C",
    "ai: It is 7 °C in both cities.",
    "the tool was executed 2 times for 2 calls",
  ],
  "rules-and-injected-arguments.ts": [
    "delete_order, get_orders",
    "orders of alice",
    "order 7 deleted",
    'The call to tool "delete_order" was denied: it was not approved.',
  ],
  "shared-cache.ts": [
    "first worker:  1 tool, tools/list requests: 1",
    "second worker: 1 tool, tools/list requests: 1",
    '"forecast" is on server "weather", version 1.0.0, health: ok',
  ],
  "stdio.ts": [
    expect.stringMatching(/^The process received these variables: GREETING, .*PATH/),
    "Echo: Hello from another process.",
  ],
  "agent-definition.ts": [
    "tool forecast, requests so far: 0",
    'the model sees: {"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","default":3}},"required":["city"]}',
    "the server received: Oslo, 3 days, key k-123",
    "open sessions: 1",
    "Error: no umbrella; open sessions: 0",
  ],
  "agent-definition-in-a-chain.ts": ["Oslo: 7 °C, light rain", "Bergen: 7 °C, light rain"],
  "agent-definition-in-a-graph.ts": [
    "requests before the run: 0",
    "human: What is the weather in Oslo?",
    'ai: forecast {"city":"Oslo"}',
    "tool: Oslo: rain for 3 days",
    "ai: Take an umbrella for three days.",
  ],
  "approval-in-a-graph.ts": [
    "1. The run stops at the large payment.",
    "   paid: Ann 50",
    "2. A person looks at what is waiting, and changes the amount.",
    '   waiting: bank__pay {"to":"Bob","amount":5000}',
    "3. The run continues.",
    "   audit: pay edit",
    "   paid: Ann 50, Bob 500",
    "   Ann got 50 EUR, Bob 500 EUR.",
  ],
  "close-clients-one-by-one.ts": [
    "book: booked",
    "forecast: 7 °C, light rain",
    "open sessions: travel 1, weather 1",
    "closed travel; open sessions: travel 0, weather 1",
    "closed weather; open sessions: travel 0, weather 0",
  ],
  "per-user-credentials.ts": [
    "alice: 200 7 messages, Bearer token-a",
    "You have seven unread messages.",
    "bob: 200 7 messages, Bearer token-b",
    "You have seven unread messages.",
    "mallory: 401 Log in first.",
    "sessions: 3 (of the application, alice and bob)",
  ],
  "worker-with-redis.ts": [
    "job weather__forecast: 7 °C, light rain",
    "   tools: weather__forecast, news__headlines",
    "job news__headlines: no news today",
    "stopping; sessions: weather 1, news 1",
    "stopped; sessions: weather 0, news 0",
  ],
};

let compiled: string;

/** Compile to a folder inside this package, so that the examples import the built package by its name. */
beforeAll(() => {
  compiled = mkdtempSync(join(root, "test/.examples-"));
  for (const name of files) {
    if (name.endsWith(".ts"))
      writeFileSync(toScriptPath(name), transpile(readFileSync(join(folder, name), "utf8")));
    else copyFileSync(join(folder, name), join(compiled, name));
  }
});

afterAll(() => rmSync(compiled, { recursive: true, force: true }));

function toScriptPath(name: string): string {
  return join(compiled, name.replace(/\.ts$/, ".mjs"));
}

describe("the examples", () => {
  it("are all covered by this test", () => {
    expect(examples.toSorted()).toEqual(Object.keys(OUTPUTS).toSorted());
  });

  it.for(ALONE)(
    "%s runs without API key or network, and exits",
    { timeout: 30_000 },
    async (name, { skip }) => {
      const script = name === DEMO ? ["--import", "tsx", `examples/${name}`] : [toScriptPath(name)];
      if (name === REDIS_EXAMPLE && !HAS_REDIS) skip();
      await using redis = name === REDIS_EXAMPLE ? await RedisServer.start() : undefined;
      const env = redis === undefined ? process.env : { ...process.env, REDIS_URL: redis.url };
      const { stdout, stderr } = await run(process.execPath, script, { cwd: root, timeout: 25_000, env });
      expect(stderr).toBe("");
      expect(toLines(stdout)).toEqual(OUTPUTS[name]);
      if (name === "opentelemetry.ts") expect(observability).toContain(stdout);
    },
  );

  describe("that share a process", () => {
    const names = examples.filter((name) => !ALONE.includes(name));
    let outputs: Awaited<ReturnType<typeof runPrograms>>;

    beforeAll(async () => {
      outputs = await runPrograms(names.map(toScriptPath));
    });

    it.for(names.map((name, index) => [name, index] as const))(
      "%s runs without API key or network, and ends",
      ([name, index]) => {
        expect(toLines(outputs.stdout[index] ?? "not run: an example before it does not end")).toEqual(
          OUTPUTS[name],
        );
      },
    );

    it("report no errors", () => {
      expect(outputs.stderr).toBe("");
    });
  });
});

function toLines(text: string): string[] {
  return text.trimEnd().split("\n");
}
