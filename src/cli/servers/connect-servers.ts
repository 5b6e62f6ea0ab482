import { McpClient } from "../../client/mcp-client.js";
import type { McpClientEvents } from "../../client/client-events.js";
import { settleWithin } from "../../async/deadline.js";
import { systemClock } from "../../async/clock.js";
import { mapConcurrent } from "../../async/map-concurrent.js";
import type { TimeoutOptions } from "../../config/server-definition.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { SelectedServer } from "./selected-server.js";
import type { CommandContext } from "../command-context.js";
import { formatSeconds } from "../terminal/text-format.js";
import { UsageError } from "../exit-codes.js";
import type { ServerSelection } from "./select-servers.js";
import { askConsent, toConsentFinding } from "./consent.js";
import { toFailureFinding } from "../findings/failure-finding.js";
import type { Finding } from "../findings/finding.js";

/** The result of connecting to a server: its tools, or the error. */
export interface ConnectedServer {
  readonly server: SelectedServer;
  readonly client: McpClient;
  readonly tools: readonly McpToolInfo[] | undefined;
  readonly error: McpRuntimeError | undefined;
  /** Time to connect and list the tools, or to fail. */
  readonly latencyMs: number;
  /** Warnings of the client. */
  readonly warnings: readonly McpClientEvents["warning"][];
}

const MAX_CONCURRENT = 16;
const MAX_CLOSE_MS = 10_000;

/** Connects to all servers, lists their tools, runs `work` and closes the clients. */
async function withConnectedServers<Result>(
  servers: readonly SelectedServer[],
  context: CommandContext,
  work: (connected: readonly ConnectedServer[]) => Promise<Result>,
): Promise<Result> {
  if (servers.length === 0) return work([]);
  const { signal, spinner } = context;
  const clients = servers.map((server) => ({ server, client: createClient(server, context) }));
  const pending = new Set(servers.map(({ name }) => name));
  const startedAt = performance.now();
  const stopSpinner = spinner.show(() => {
    const done = servers.length - pending.size;
    return `connecting ${done}/${servers.length}  ${formatSeconds(performance.now() - startedAt)}  ${[...pending].join(", ")}`;
  });
  try {
    const connected = await mapConcurrent(clients, MAX_CONCURRENT, async ({ server, client }) => {
      const result = await connectServer(server, client, signal);
      pending.delete(server.name);
      return result;
    });
    stopSpinner();
    return await work(connected);
  } finally {
    stopSpinner();
    await closeAll(clients.map(({ client }) => client));
  }
}

/** Creates a client without retries: a failure is shown to the user at once. */
function createClient({ name, definition }: SelectedServer, { logger, line }: CommandContext): McpClient {
  const timeouts = { ...definition.timeouts, ...parseTimeout(line.value("timeout")) };
  const overrides = { name, timeouts, retry: false, circuitBreaker: false } as const;
  return new McpClient({ ...definition, ...overrides }, { logger });
}

function parseTimeout(seconds: string | undefined): TimeoutOptions {
  if (seconds === undefined) return {};
  const ms = Number(seconds) * 1_000;
  if (!(ms > 0)) throw new UsageError("--timeout must be a number of seconds.", "Example: --timeout 20.");
  return { connectMs: ms, requestMs: ms };
}

async function connectServer(
  server: SelectedServer,
  client: McpClient,
  signal: AbortSignal,
): Promise<ConnectedServer> {
  const startedAt = performance.now();
  const warnings: McpClientEvents["warning"][] = [];
  client.on("warning", (warning) => warnings.push(warning));
  const createResult = (result: Pick<ConnectedServer, "tools" | "error">): ConnectedServer => ({
    server,
    client,
    warnings,
    latencyMs: performance.now() - startedAt,
    ...result,
  });
  try {
    return createResult({ tools: await client.listTools({ signal }), error: undefined });
  } catch (error) {
    if (!(error instanceof McpRuntimeError) || signal.aborted) throw error;
    return createResult({ tools: undefined, error });
  }
}

async function closeAll(clients: readonly McpClient[]): Promise<void> {
  await settleWithin(MAX_CLOSE_MS, systemClock, () =>
    Promise.allSettled(clients.map((client) => client.close())),
  );
}

/** The connected servers of a selection, and all findings so far. */
export interface ConnectedSelection {
  readonly connected: readonly ConnectedServer[];
  /** Findings about config files, missing consent and failed connections. */
  readonly findings: readonly Finding[];
}

/** Asks for consent if needed, connects to the allowed servers, runs `work` and closes the clients. */
export async function withConnectedSelection<Result>(
  { servers, findings }: ServerSelection,
  context: CommandContext,
  work: (selection: ConnectedSelection) => Promise<Result>,
): Promise<Result> {
  const { allowed, declined } = await askConsent(servers, context);
  return withConnectedServers(allowed, context, (connected) =>
    work({
      connected,
      findings: [...findings, ...declined.map(toConsentFinding), ...connected.flatMap(toFailureFindings)],
    }),
  );
}

function toFailureFindings({ server, client, error }: ConnectedServer): Finding[] {
  return error === undefined ? [] : [toFailureFinding(error, server, client.state === "ready")];
}
