import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  McpRuntimeError,
  type McpToolset,
  type McpToolsOptions,
  type ServerDefinition,
} from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, NO_RETRY } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

/** Values that user code may throw, for which `String()`, a template literal or `inspect` fails. */
const UNPRINTABLE: readonly (() => unknown)[] = [
  () => Object.create(null) as unknown,
  () => ({ toString: fail, [Symbol.for("nodejs.util.inspect.custom")]: fail }),
  () => ({ toString: 1, valueOf: 1 }),
  () => Symbol("thrown"),
  () => Object.defineProperty(new Error("x"), "message", { get: fail }),
  () => Object.assign(new Error("x"), { message: Symbol("thrown") }),
  () => Object.setPrototypeOf(new Error("x"), null) as unknown,
];

function fail(): never {
  throw new TypeError("cannot be printed");
}

const identity = () => "ada";

type Thrower = () => never;
type Definition = (url: string, thrower: Thrower) => Record<string, unknown>;

interface Scenario {
  readonly definition?: Definition;
  readonly options?: (thrower: Thrower) => Record<string, unknown>;
  readonly use?: (mcp: McpToolset, thrower: Thrower) => Promise<unknown>;
}

const SCENARIOS: readonly [name: string, scenario: Scenario][] = [
  ["beforeToolCall", { options: (thrower) => ({ beforeToolCall: thrower }) }],
  ["afterToolCall", { options: (thrower) => ({ afterToolCall: thrower }) }],
  ["customData", { options: (thrower) => ({ customData: thrower }), use: invokeEcho }],
  [
    "onToolError",
    { options: (thrower) => ({ beforeToolCall: thrower, onToolError: thrower }), use: invokeEcho },
  ],
  ["filter", { options: (thrower) => ({ filter: thrower }) }],
  [
    "a logger",
    {
      options: (thrower) => ({
        filter: thrower,
        logger: { debug: thrower, info: thrower, warn: thrower, error: thrower },
      }),
    },
  ],
  [
    "a store",
    {
      options: (thrower) => ({
        cache: { store: { get: thrower, set: thrower, delete: thrower, list: thrower, close: thrower } },
      }),
    },
  ],
  ["headers", { definition: (url, thrower) => ({ url, headers: thrower, identity }) }],
  ["auth", { definition: (url, thrower) => ({ url, auth: thrower, identity }) }],
  ["identity", { definition: (url, thrower) => ({ url, headers: () => ({}), identity: thrower }) }],
  ["fetch", { definition: (url, thrower) => ({ url, fetch: thrower, ...NO_RETRY }) }],
  ["allowAddress", { definition: (url, thrower) => ({ url, allowAddress: thrower, ...NO_RETRY }) }],
  ["resolve", { definition: (_, thrower) => ({ resolve: thrower, ...NO_RETRY }) }],
  ["openTransport", { definition: (_, thrower) => ({ openTransport: thrower, ...NO_RETRY }) }],
  ["classify", { definition: (url, thrower) => ({ url, classify: thrower }), use: callMissing }],
  ["fallback", { definition: (url, thrower) => ({ url, fallback: thrower }), use: callMissing }],
  [
    "requireApproval",
    {
      definition: (url, thrower) => ({ url, tools: { echo: { requireApproval: thrower } } }),
      use: invokeEcho,
    },
  ],
  [
    "a listener",
    {
      use: (mcp, thrower) => {
        for (const name of ["requestStarted", "requestEnded"] as const) mcp.clients["s"]?.on(name, thrower);
        return mcp.callTool(echo());
      },
    },
  ],
];

function invokeEcho(mcp: McpToolset): Promise<unknown> {
  return Promise.resolve(mcp.tools[0]?.invoke({ text: "hello" }));
}

function callMissing(mcp: McpToolset): Promise<unknown> {
  return mcp.callTool({ name: "missing", args: {} });
}

/** Returns the kind of a failure, or the result. */
async function getOutcome(
  url: string,
  { definition, options, use }: Scenario,
  thrown: unknown,
): Promise<string> {
  const thrower = () => {
    throw thrown;
  };
  const server = (definition?.(url, thrower) ?? { url }) as unknown as ServerDefinition;
  const settings = { logger: new RecordingLogger(), ...options?.(thrower) } as McpToolsOptions;
  try {
    await using mcp = await createMcpTools({ s: server }, settings);
    const result = await (use?.(mcp, thrower) ?? mcp.callTool(echo()));
    return JSON.stringify(result);
  } catch (error) {
    return error instanceof McpRuntimeError ? error.kind : "not a McpRuntimeError";
  }
}

describe("a value that cannot be printed has the effect of an ordinary error if it is thrown by", () => {
  it.each(SCENARIOS)("%s", async (_, scenario) => {
    await using server = await startMcpTestServer();
    const ordinary = await getOutcome(server.url, scenario, new Error("ordinary"));
    expect(ordinary).not.toBe("invalid-config");
    for (const create of UNPRINTABLE) expect(await getOutcome(server.url, scenario, create())).toBe(ordinary);
  });
});
