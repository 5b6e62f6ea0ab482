import type { Choice } from "./select-servers.js";
import type { CommandContext } from "../command-context.js";
import { askConsent, refusalOf } from "./consent.js";
import { toFailureFinding } from "../findings/failure-finding.js";
import type { Finding } from "../findings/finding.js";
import { type OpenedServer, withOpenServers } from "./connect-servers.js";

/** What was found out about the servers of a choice. */
export interface OpenedChoice {
  readonly opened: readonly OpenedServer[];
  /** Of the files, of servers that nobody allowed, and of those that failed. */
  readonly findings: readonly Finding[];
}

/** Asks for consent where that is needed, opens what is allowed, and closes it after `work`. */
export async function withOpenChoice<Result>(
  { servers, findings }: Choice,
  context: CommandContext,
  work: (choice: OpenedChoice) => Promise<Result>,
): Promise<Result> {
  const { allowed, refused } = await askConsent(servers, context);
  return withOpenServers(allowed, context, (opened) =>
    work({ opened, findings: [...findings, ...refused.map(refusalOf), ...opened.flatMap(failureOf)] }),
  );
}

function failureOf({ server, client, error }: OpenedServer): Finding[] {
  return error === undefined ? [] : [toFailureFinding(error, server, client.state === "ready")];
}
