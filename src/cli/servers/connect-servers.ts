import { McpClient } from "../../client/mcp-client.js";
import type { McpClientEvents } from "../../client/mcp-client-events.js";
import { within } from "../../async/settle-within.js";
import { systemClock } from "../../async/clock.js";
import { mapLimited } from "../../async/map-concurrent.js";
import type { TimeoutOptions } from "../../config/server-definition.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ChosenServer } from "./selected-server.js";
import type { CommandContext } from "../command-context.js";
import { secondsText } from "../terminal/format-time.js";
import { UsageError } from "../usage-error.js";

/** A server that was asked for its tools: it has listed them, or `error` says why not. */
export interface OpenedServer {
  readonly server: ChosenServer;
  readonly client: McpClient;
  readonly tools: readonly McpToolInfo[] | undefined;
  readonly error: McpRuntimeError | undefined;
  /** From nothing to the list, or to the failure. */
  readonly latencyMs: number;
  /** What the client warned of. */
  readonly warnings: readonly McpClientEvents["warning"][];
}

const MOST_AT_ONCE = 16;
const MOST_CLOSING_MS = 10_000;

/** Connects all, lists their tools, gives them to `work`, and closes them, however that ends. */
export async function withOpenServers<Result>(
  servers: readonly ChosenServer[],
  context: CommandContext,
  work: (opened: readonly OpenedServer[]) => Promise<Result>,
): Promise<Result> {
  if (servers.length === 0) return work([]);
  const { signal, live } = context;
  const openings = servers.map((server) => ({ server, client: clientOf(server, context) }));
  const waiting = new Set(servers.map(({ name }) => name));
  const startedAt = performance.now();
  const hide = live.show(() => {
    const done = servers.length - waiting.size;
    return `connecting ${done}/${servers.length}  ${secondsText(performance.now() - startedAt)}  ${[...waiting].join(", ")}`;
  });
  try {
    const opened = await mapLimited(openings, MOST_AT_ONCE, async ({ server, client }) => {
      const result = await openServer(server, client, signal);
      waiting.delete(server.name);
      return result;
    });
    hide();
    return await work(opened);
  } finally {
    hide();
    await closeAll(openings.map(({ client }) => client));
  }
}

/** A person waits, and can try again: what fails is told at once. */
function clientOf({ name, definition }: ChosenServer, { logger, line }: CommandContext): McpClient {
  const timeouts = { ...definition.timeouts, ...timeoutsOf(line.value("timeout")) };
  const server = { ...definition, name, timeouts, retry: false, breaker: false };
  return new McpClient(server as ConstructorParameters<typeof McpClient>[0], { logger });
}

function timeoutsOf(seconds: string | undefined): TimeoutOptions {
  if (seconds === undefined) return {};
  const ms = Number(seconds) * 1_000;
  if (!(ms > 0))
    throw new UsageError("--timeout is no number of seconds.", "Write --timeout 20, for instance.");
  return { connectMs: ms, requestMs: ms };
}

async function openServer(
  server: ChosenServer,
  client: McpClient,
  signal: AbortSignal,
): Promise<OpenedServer> {
  const startedAt = performance.now();
  const warnings: McpClientEvents["warning"][] = [];
  client.on("warning", (warning) => warnings.push(warning));
  const opened = (result: Pick<OpenedServer, "tools" | "error">): OpenedServer => ({
    server,
    client,
    warnings,
    latencyMs: performance.now() - startedAt,
    ...result,
  });
  try {
    return opened({ tools: await client.listTools({ signal }), error: undefined });
  } catch (error) {
    if (!(error instanceof McpRuntimeError) || signal.aborted) throw error;
    return opened({ tools: undefined, error });
  }
}

async function closeAll(clients: readonly McpClient[]): Promise<void> {
  await within(MOST_CLOSING_MS, systemClock, () =>
    Promise.allSettled(clients.map((client) => client.close())),
  );
}
