import { findLargest } from "../../json/json.js";
import { createInterface } from "node:readline";
import { isAuthGrant } from "../../config/auth-grant.js";
import type { ServerConfig } from "../../config/server-config.js";
import { redactUrl } from "../../errors/redaction.js";
import { truncate } from "../../errors/sanitize-text.js";
import type { CommandContext } from "../command-context.js";
import { createFinding, type Finding } from "../report/finding.js";
import { createPage, type Terminal } from "../terminal.js";
import { escapeText, padToWidth, textWidth, truncateToWidth, wrapIndented } from "../text-format.js";
import { formatAddress, hideValues, type SelectedServer } from "./selected-server.js";

/**
 * Asks before using a project's config file that would start a command, send a request signed with the user's AWS
 * credentials, or receive variables or paths: the user of a folder may not have written its files. Returns the servers
 * that were declined.
 */
export async function askConsent(
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
/** With less space than this next to the names, the texts are below them. */
const MIN_TEXT_WIDTH = 30;
/** With more lines than this, the first may have scrolled away, so the question includes the number of servers. */
const MAX_LINES = 15;

/**
 * The lines after the first of a server are indented, so that the text of one server cannot look like a row of its
 * own or like another question.
 */
function formatQuestion(servers: readonly SelectedServer[], terminal: Terminal): string[] {
  const { columns } = createPage(terminal.stderr, terminal.env);
  const names = servers.map(({ name }) => truncateToWidth(name, Math.min(MAX_NAME_WIDTH, columns - 2)));
  const indent = findLargest(names.map(textWidth)) + 4;
  const isNarrow = columns - indent < MIN_TEXT_WIDTH;
  const rows = servers.flatMap((server, index) => {
    const name = `  ${names[index] ?? ""}`;
    // What the file itself calls a secret, such as a part of its command, is shown.
    const described = describeEffect(server, terminal, (text) => text);
    const effect = escapeText(`${described} (${server.file ?? ""})`);
    if (isNarrow) return [name, ...wrapIndented(effect, columns, 4)];
    return wrapIndented(effect, columns, indent, padToWidth(name, indent));
  });
  const question = rows.length > MAX_LINES ? `Continue with all ${servers.length}?` : "Continue?";
  return ["Config files in this folder would:", ...rows, question];
}

/** Describes what a server of a project file would do. The values of variables are hidden, and what `redact` replaces. */
function describeEffect(
  { config: { address }, variables, variableSecrets }: SelectedServer,
  { cwd }: Terminal,
  redact: (text: string) => string,
): string {
  const show = (text: string, maxLength = MAX_ADDRESS_LENGTH) =>
    shorten(hideValues(redact(text), variableSecrets), maxLength);
  const recipients = getRecipients(address);
  const recipient = recipients.length > 1 ? "them" : "it";
  const passed = variables.length === 0 ? "" : ` and give ${recipient} ${formatVariables(variables)}`;
  const endpoints = recipients.map((endpoint) => show(endpoint)).join(", ");
  if (address.kind === "lambda")
    return `invoke the AWS Lambda function ${show(address.functionName)} at ${endpoints} with your AWS credentials${passed}`;
  if (address.kind !== "stdio") return `connect to ${endpoints}${passed}`;
  const folder = address.cwd === undefined || address.cwd === cwd ? "" : ` in ${show(address.cwd)}`;
  const names = Object.keys(address.env).join(", ");
  const environment = names === "" ? "" : ` with ${show(names, MAX_NAMES_LENGTH)} set`;
  return `start ${show(formatAddress(address))}${folder}${environment}${passed}`;
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
export function toConsentFinding(server: SelectedServer, terminal: Terminal): Finding {
  const { name, file = "a file", redactor } = server;
  const text = `${file} would ${describeEffect(server, terminal, (part) => redactor.redact(part))}. Not approved.`;
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
