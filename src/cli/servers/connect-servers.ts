import { McpClient } from "../../client/mcp-client.js";
import type { McpClientEvents } from "../../client/client-events.js";
import { settleWithin, systemClock } from "../../async/clock.js";
import { mapConcurrent } from "../../async/semaphore.js";
import { isAuthGrant } from "../../config/auth-grant.js";
import type { ServerConfig, TransportType } from "../../config/server-config.js";
import type { TimeoutOptions } from "../../config/server-definition.js";
import type { McpToolInfo } from "../../config/list-items.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { redactUrl } from "../../errors/redaction.js";
import { truncate } from "../../errors/sanitize-text.js";
import { formatAddress, hideValues, type SelectedServer } from "./selected-server.js";
import type { CommandContext, Outcome } from "../command-context.js";
import { escapeText, padToWidth, textWidth, truncateToWidth, wrapIndented } from "../text-format.js";
import { UsageError } from "../exit-codes.js";
import type { ServerSelection } from "./select-servers.js";
import { toFailureFinding } from "../report/failure-finding.js";
import { type Finding, createFinding } from "../report/finding.js";
import { createInterface } from "node:readline";
import { createPage, type Terminal } from "../terminal.js";

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

/**
 * Asks before using a project's config file that would start a command, send a request signed with the user's AWS
 * credentials, or receive variables or paths: the user of a folder may not have written its files. Returns the servers
 * that were declined.
 */
async function askConsent(
  servers: readonly SelectedServer[],
  { line, terminal, signal }: CommandContext,
): Promise<readonly SelectedServer[]> {
  const undecided = servers.filter(needsConsent);
  if (undecided.length === 0 || line.flags.has("yes")) return [];
  const isInteractive = terminal.stdin.isTTY === true && terminal.stderr.isTTY === true;
  const isAllowed = isInteractive && (await confirm(terminal, formatQuestion(undecided, terminal), signal));
  return isAllowed ? [] : undecided;
}

/** Only a URL that receives nothing of the user is used without consent. */
function needsConsent({ scope, config, variables }: SelectedServer): boolean {
  return scope === "project" && (!("url" in config.address) || variables.length > 0);
}

const MAX_NAME_WIDTH = 40;
/** The first of more lines than this may be out of sight, so the question says how many servers there are. */
const MAX_LINES = 15;

/**
 * The lines after the first of a server are indented, so that the text of one server cannot look like a row of its
 * own or like another question.
 */
function formatQuestion(servers: readonly SelectedServer[], terminal: Terminal): string[] {
  const { columns } = createPage(terminal.stderr, terminal.env);
  const names = servers.map(({ name }) => truncateToWidth(name, MAX_NAME_WIDTH));
  const width = Math.max(...names.map(textWidth));
  const rows = servers.flatMap((server, index) => {
    const prefix = `  ${padToWidth(names[index] ?? "", width)}  `;
    return wrapIndented(escapeText(describeEffect(server, terminal)), columns, width + 4, prefix);
  });
  const question = rows.length > MAX_LINES ? `Continue with all ${servers.length}?` : "Continue?";
  return ["Config files in this folder would:", ...rows, question];
}

/**
 * Describes what a server of a project file would do. Only the values of variables are hidden: what the file itself
 * calls a secret, such as a part of its command, is shown.
 */
function describeEffect(server: SelectedServer, terminal: Terminal): string {
  const { config, variables, variableSecrets, file = "" } = server;
  const show = (text: string) => shorten(hideValues(text, variableSecrets), MAX_ADDRESS_LENGTH);
  const { address } = config;
  const recipients = getRecipients(address);
  const recipient = recipients.length > 1 ? "them" : "it";
  const passed = variables.length === 0 ? "" : ` and give ${recipient} ${formatVariables(variables)}`;
  return `${describeAddress(address, recipients.map(show), show, terminal)}${passed} (${file})`;
}

function describeAddress(
  address: ServerConfig["address"],
  recipients: readonly string[],
  show: (text: string) => string,
  { cwd }: Terminal,
): string {
  if (address.kind === "lambda")
    return `invoke the AWS Lambda function ${show(address.functionName)} at ${recipients.join(", ")} with your AWS credentials`;
  if (address.kind !== "stdio") return `connect to ${recipients.join(", ")}`;
  const folder = address.cwd === undefined || address.cwd === cwd ? "" : ` in ${show(address.cwd)}`;
  const names = Object.keys(address.env);
  const variables = names.length === 0 ? "" : ` with ${shorten(names.join(", "), MAX_NAMES_LENGTH)} set`;
  return `start ${show(formatAddress(address))}${folder}${variables}`;
}

/** The endpoints that receive values of the definition: the server and its token endpoints. */
function getRecipients(address: ServerConfig["address"]): string[] {
  if (address.kind === "lambda") {
    const { endpoint, region } = address;
    if (endpoint !== undefined) return [redactUrl(endpoint) ?? ""];
    return [region === undefined ? "AWS in your default region" : `AWS in region ${region}`];
  }
  const auth = "auth" in address ? address.auth : undefined;
  const issuers = isAuthGrant(auth) ? [auth.issuer] : [];
  const tokenEndpoints =
    isAuthGrant(auth) && auth.grant === "enterprise-managed" ? [auth.identityProvider.tokenEndpoint] : [];
  return [formatAddress(address), ...[...issuers, ...tokenEndpoints].map((url) => redactUrl(url) ?? "")];
}

const MAX_ADDRESS_LENGTH = 500;
const MAX_NAMES_LENGTH = 200;

/** Escapes and shortens a text of the file: a long one would move the rest of the question out of sight. */
function shorten(text: string, maxLength: number): string {
  const escaped = escapeText(text);
  const more = escaped.length - maxLength;
  if (more <= 0) return escaped;
  return `${truncate(escaped, maxLength)} (and ${more} more characters: read the file)`;
}

/** Secrets of the file are redacted, too, because findings are also written to logs. */
function toConsentFinding(server: SelectedServer): Finding {
  const { name, config, file = "a file", variables, variableSecrets, redactor } = server;
  const address = shorten(server.address, MAX_ADDRESS_LENGTH);
  const recipients = getRecipients(config.address)
    .map((text) => shorten(hideValues(redactor.redact(text), variableSecrets), MAX_ADDRESS_LENGTH))
    .join(", ");
  const passed = variables.length === 0 ? "" : ` and give it ${formatVariables(variables)}`;
  const effects: Partial<Record<TransportType, string>> = {
    stdio: `start a command: ${address}`,
    lambda: `invoke the AWS Lambda function ${address} at ${recipients} with your AWS credentials${passed}`,
  };
  const effect = effects[server.kind] ?? `send ${formatVariables(variables)} to ${recipients}`;
  const text = `${file} would ${effect}. Not approved.`;
  const hint = `If you trust ${file}, use --yes or --config ${file}.`;
  return createFinding("consent-required", { server: name, text, hint });
}

function formatVariables(names: readonly string[]): string {
  return shorten(names.map(formatVariable).join(", "), MAX_NAMES_LENGTH);
}

/** Formats a variable as `$TOKEN`, a VS Code input as `input:token` and a predefined variable as `${userHome}`. */
function formatVariable(name: string): string {
  const predefined = /^predefined:(.*)$/s.exec(name)?.[1];
  if (predefined !== undefined) return `\${${predefined}}`;
  return name.startsWith("input:") ? name : `$${name}`;
}

/**
 * Asks a yes/no question. Any other input, and the end of the input, means no. The terminal stays in line mode,
 * so that Ctrl-C sends a signal.
 */
async function confirm(
  { stdin, stderr }: Terminal,
  question: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  stderr.write(`${question.map(escapeText).join("\n")} [y/N] `);
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
