import { createInterface } from "node:readline";
import { isInteractive, type Terminal } from "../terminal/terminal.js";
import type { SelectedServer } from "./selected-server.js";
import type { CommandContext } from "../command-context.js";
import { createFinding, type Finding } from "../findings/finding.js";
import { padToWidth, textWidth } from "../terminal/text-format.js";

interface Consent {
  readonly allowed: readonly SelectedServer[];
  readonly declined: readonly SelectedServer[];
}

/**
 * Asks before using a project's config file that would start a command or receive environment variables: the
 * user of a folder may not have written its files.
 */
export async function askConsent(
  servers: readonly SelectedServer[],
  { line, terminal, signal }: CommandContext,
): Promise<Consent> {
  const undecided = servers.filter(needsConsent);
  const isAllowed =
    undecided.length === 0 ||
    line.flags.has("yes") ||
    (isInteractive(terminal) && (await confirm(terminal, formatQuestion(undecided), signal)));
  if (isAllowed) return { allowed: servers, declined: [] };
  return { allowed: servers.filter((server) => !undecided.includes(server)), declined: undecided };
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

export function toConsentFinding(server: SelectedServer): Finding {
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
