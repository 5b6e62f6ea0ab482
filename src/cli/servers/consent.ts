import { askYesNo } from "../terminal/confirm.js";
import type { ChosenServer } from "./selected-server.js";
import type { CommandContext } from "../command-context.js";
import { createFinding, type Finding } from "../findings/finding.js";
import { canAsk } from "../terminal/terminal.js";
import { padToWidth, widthOf } from "../terminal/text-width.js";

interface Consent {
  readonly allowed: readonly ChosenServer[];
  readonly refused: readonly ChosenServer[];
}

/**
 * Who opens a folder has not written its files. What such a file says is done only after a yes where
 * it could do harm by itself: start a command here, or be sent what is in environment variables.
 */
export async function askConsent(
  servers: readonly ChosenServer[],
  { line, terminal, signal }: CommandContext,
): Promise<Consent> {
  const asking = servers.filter(needsYes);
  const isAllowed =
    asking.length === 0 ||
    line.flags.has("yes") ||
    (canAsk(terminal) && (await askYesNo(terminal, question(asking), signal)));
  if (isAllowed) return { allowed: servers, refused: [] };
  return { allowed: servers.filter((server) => !asking.includes(server)), refused: asking };
}

function needsYes({ scope, kind, variables }: ChosenServer): boolean {
  return scope === "project" && (kind === "stdio" || variables.length > 0);
}

function question(servers: readonly ChosenServer[]): string {
  const width = Math.max(...servers.map(({ name }) => widthOf(name)));
  const rows = servers.map((server) => `  ${padToWidth(server.name, width)}  ${whatItDoes(server)}`);
  return ["Files of this folder want to:", ...rows, "Do you trust them?"].join("\n");
}

function whatItDoes({ kind, address, recipients, variables, file }: ChosenServer): string {
  const what = kind === "stdio" ? `start ${address}` : `connect to ${recipients.join(", ")}`;
  const whom = recipients.length === 1 ? "it" : "them";
  const given = variables.length === 0 ? "" : ` and give ${whom} ${variablesText(variables)}`;
  return `${what}${given} (${file ?? ""})`;
}

export function refusalOf(server: ChosenServer): Finding {
  const { name, kind, file = "a file", variables } = server;
  const what =
    kind === "stdio"
      ? `${file} would start a command: ${server.address}`
      : `${file} would send ${variablesText(variables)} to ${server.recipients.join(", ")}`;
  const next = `If you trust ${file}: --yes, or name it yourself with --config ${file}.`;
  return createFinding("yes-needed", { server: name, text: `${what}. Nobody said yes.`, next });
}

/** `$TOKEN`; an input of VS Code is told by its id, `input:token`. */
function variablesText(names: readonly string[]): string {
  return names.map((name) => (name.startsWith("input:") ? name : `$${name}`)).join(", ");
}
