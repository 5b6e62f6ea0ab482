import { McpClient } from "../../client/mcp-client.js";
import type { McpClientEvents } from "../../client/client-events.js";
import { settleWithin, systemClock } from "../../async/clock.js";
import { mapConcurrent } from "../../async/semaphore.js";
import type { TimeoutOptions } from "../../config/server-definition.js";
import type { McpToolInfo } from "../../config/list-items.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { SelectedServer } from "./selected-server.js";
import type { CommandContext, Outcome } from "../command-context.js";
import { padToWidth, textWidth } from "../text-format.js";
import { UsageError } from "../exit-codes.js";
import type { ServerSelection } from "./select-servers.js";
import { toFailureFinding } from "../report/failure-finding.js";
import { type Finding, createFinding } from "../report/finding.js";
import { createInterface } from "node:readline";
import type { Terminal } from "../terminal.js";

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

/** A selected server, and its connection. */
export interface ServerResult {
  readonly server: SelectedServer;
  /** Undefined if consent was declined. */
  readonly connected: ConnectedServer | undefined;
}

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
  const clients = servers
    .filter((server) => !declined.includes(server))
    .map((server) => ({ server, client: createClient(server, context) }));
  try {
    const connected = await connectAll(clients, context);
    const failures = connected.flatMap(({ server, client, error }) =>
      error === undefined ? [] : [toFailureFinding(error, server, client.state === "ready")],
    );
    return await work({
      results: servers.map((server) => ({
        server,
        connected: connected.find((candidate) => candidate.server === server),
      })),
      connected,
      findings: [...findings, ...declined.map(toConsentFinding), ...failures],
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
  const { value: tools, error } = await settle(client.listTools({ signal }), signal);
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

/**
 * Asks before using a project's config file that would start a command or receive environment variables: the
 * user of a folder may not have written its files. Returns the servers that were declined.
 */
async function askConsent(
  servers: readonly SelectedServer[],
  { line, terminal, signal }: CommandContext,
): Promise<readonly SelectedServer[]> {
  const undecided = servers.filter(needsConsent);
  if (undecided.length === 0 || line.flags.has("yes")) return [];
  const isInteractive = terminal.stdin.isTTY === true && terminal.stderr.isTTY === true;
  const isAllowed = isInteractive && (await confirm(terminal, formatQuestion(undecided), signal));
  return isAllowed ? [] : undecided;
}

function needsConsent({ scope, kind, variables }: SelectedServer): boolean {
  return scope === "project" && (kind === "stdio" || variables.length > 0);
}

function formatQuestion(servers: readonly SelectedServer[]): string {
  const width = Math.max(...servers.map(({ name }) => textWidth(name)));
  const rows = servers.map((server) => `  ${padToWidth(server.name, width)}  ${describeEffect(server)}`);
  return ["Config files in this folder would:", ...rows, "Continue?"].join("\n");
}

function describeEffect({ kind, address, recipients, variables, file }: SelectedServer): string {
  const effect = kind === "stdio" ? `start ${address}` : `connect to ${recipients.join(", ")}`;
  const recipient = recipients.length === 1 ? "it" : "them";
  const passed = variables.length === 0 ? "" : ` and give ${recipient} ${formatVariables(variables)}`;
  return `${effect}${passed} (${file ?? ""})`;
}

function toConsentFinding(server: SelectedServer): Finding {
  const { name, kind, file = "a file", variables } = server;
  const effect =
    kind === "stdio"
      ? `${file} would start a command: ${server.address}`
      : `${file} would send ${formatVariables(variables)} to ${server.recipients.join(", ")}`;
  const hint = `If you trust ${file}, use --yes or --config ${file}.`;
  return createFinding("consent-required", { server: name, text: `${effect}. Not approved.`, hint });
}

/** Formats variable names as `$TOKEN`; VS Code inputs as `input:token`. */
function formatVariables(names: readonly string[]): string {
  return names.map((name) => (name.startsWith("input:") ? name : `$${name}`)).join(", ");
}

/**
 * Asks a yes/no question. Any other input, and the end of the input, means no. The terminal stays in line mode,
 * so that Ctrl-C sends a signal.
 */
async function confirm({ stdin, stderr }: Terminal, question: string, signal: AbortSignal): Promise<boolean> {
  signal.throwIfAborted();
  stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: stdin, terminal: false });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve);
      lines.once("close", () => {
        stderr.write("\n");
        resolve("");
      });
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    return /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    lines.removeAllListeners("close");
    lines.close();
  }
}
