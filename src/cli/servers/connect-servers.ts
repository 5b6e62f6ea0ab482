import { McpClient } from "../../client/mcp-client.js";
import type { McpClientEvents } from "../../client/client-events.js";
import { settleWithin, systemClock } from "../../async/clock.js";
import { mapConcurrent } from "../../async/semaphore.js";
import type { TimeoutOptions } from "../../config/server-definition.js";
import type { McpToolInfo } from "../../config/server-features.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { askConsent, toConsentFinding } from "./consent.js";
import type { SelectedServer } from "./selected-server.js";
import type { CommandContext, Outcome } from "../command-context.js";
import { UsageError } from "../exit-codes.js";
import type { ServerSelection } from "./select-servers.js";
import { toFailureFinding } from "../report/failure-finding.js";
import type { Finding } from "../report/finding.js";

/** A selected server, and the result of connecting to it: its tools, or the error. */
export interface ServerResult {
  readonly server: SelectedServer;
  /** Undefined if consent was declined. */
  readonly client?: McpClient;
  readonly tools?: readonly McpToolInfo[] | undefined;
  readonly error?: McpRuntimeError | undefined;
  /** Time to connect and list the tools, or to fail. */
  readonly latencyMs?: number;
}

export interface ConnectedServer extends ServerResult {
  readonly client: McpClient;
  readonly latencyMs: number;
  /** Warnings of the client. */
  readonly warnings: readonly McpClientEvents["warning"][];
}

const MAX_CONCURRENT = 16;
const MAX_CLOSE_MS = 10_000;

/** The servers of a selection, and all findings so far. */
export interface ConnectedSelection {
  readonly results: readonly ServerResult[];
  readonly connected: readonly ConnectedServer[];
  /** Findings about config files, missing consent and failed connections. */
  readonly findings: readonly Finding[];
}

/**
 * Asks for consent if needed, connects to the allowed servers, lists their tools, runs `work` and closes the
 * clients.
 */
export async function withConnectedServers(
  { servers, findings }: ServerSelection,
  context: CommandContext,
  work: (selection: ConnectedSelection) => Promise<Outcome>,
): Promise<Outcome> {
  const declined = await askConsent(servers, context);
  const refusals = declined.map((server) => toConsentFinding(server, context.terminal));
  const clients = servers
    .filter((server) => !declined.includes(server))
    .map((server) => ({ server, client: createClient(server, context) }));
  try {
    const connected = await connectAll(clients, context);
    const failures = connected.flatMap(({ server, client, error }) =>
      error === undefined ? [] : [toFailureFinding(error, server, { hasSession: client.state === "ready" })],
    );
    return await work({
      results: servers.map((server) => connected.find((result) => result.server === server) ?? { server }),
      connected,
      findings: [...findings, ...refusals, ...failures],
    });
  } finally {
    await settleWithin(MAX_CLOSE_MS, systemClock, () =>
      Promise.allSettled(clients.map(({ client }) => client.close())),
    );
  }
}

async function connectAll(
  clients: readonly Pick<ConnectedServer, "server" | "client">[],
  { signal, spinner }: CommandContext,
): Promise<ConnectedServer[]> {
  if (clients.length === 0) return [];
  const pending = new Set(clients.map(({ server }) => server.name));
  return spinner.during(
    (elapsed) => {
      const done = clients.length - pending.size;
      return `connecting ${done}/${clients.length}  ${elapsed}  ${[...pending].join(", ")}`;
    },
    () =>
      mapConcurrent(clients, MAX_CONCURRENT, async ({ server, client }) => {
        const result = await connectServer(server, client, signal);
        pending.delete(server.name);
        return result;
      }),
  );
}

/** Creates a client without retries: a failure is shown to the user at once. */
function createClient(server: SelectedServer, { logger, line }: CommandContext): McpClient {
  const { name, definition } = server;
  const timeouts = {
    ...getStartTimeout(server),
    ...definition.timeouts,
    ...parseTimeout(line.value("timeout")),
  };
  const overrides = { name, timeouts, retry: false, circuitBreaker: false } as const;
  return new McpClient({ ...definition, ...overrides }, { logger });
}

/** Commands that may download the server before they start it. Others respond sooner. */
const INSTALLERS =
  /(?:^|[\s'/\\])(?:npx|npm|pnpm|pnpx|yarn|bunx?|deno|uvx?|pipx|docker|podman|nix)(?:\.exe|\.cmd)?(?:$|[\s'])/;
const START_TIMEOUT: TimeoutOptions = { connectMs: 20_000 };

/** A command that installs nothing gets less time to start than in a program, because a person waits for the result. */
export function getStartTimeout({ kind, address }: Pick<SelectedServer, "kind" | "address">): TimeoutOptions {
  return kind === "stdio" && !INSTALLERS.test(address) ? START_TIMEOUT : {};
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
  // The handshake first, so that its own time limit and error are reported.
  const listing = client.ensureSession({ signal }).then(() => client.listTools({ signal }));
  const { value: tools, error } = await settle(listing, signal);
  return { server, client, tools, error, latencyMs: performance.now() - startedAt, warnings };
}

/** Returns the `McpRuntimeError` of a request instead of throwing it, unless the command was interrupted. */
export async function settle<Value>(request: Promise<Value>, signal: AbortSignal) {
  try {
    return { value: await request, error: undefined };
  } catch (error) {
    if (error instanceof McpRuntimeError && !signal.aborted) return { value: undefined, error };
    throw error;
  }
}
