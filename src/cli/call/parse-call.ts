import type { ChosenServer } from "../servers/selected-server.js";
import type { Choice } from "../servers/select-servers.js";
import { UsageError } from "../usage-error.js";

/** What somebody wants to call. */
export interface CallRequest {
  readonly server: string;
  readonly tool: string;
  /** `name=value`, as typed. */
  readonly pairs: readonly (readonly [name: string, value: string])[];
}

const USAGE = "Write call <server> <tool>, for instance: call weather forecast city=Oslo.";

/** Reads `<server> <tool> name=value …`. Where there is only one server, its name may be left out. */
export function toCallRequest(words: readonly string[], { servers }: Choice): CallRequest {
  const names = words.filter((word) => !isPair(word));
  const pairs = words.filter(isPair).map((word): [string, string] => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)];
  });
  const [first, second, ...others] = names;
  if (first === undefined) throw new UsageError("Nothing says what to call.", USAGE);
  if (others.length > 0)
    throw new UsageError(
      `"${others[0] ?? ""}" is one word too many.`,
      "Write arguments as name=value, or with --args.",
    );
  if (second !== undefined) return { server: first, tool: second, pairs };
  return { server: onlyServer(servers, first).name, tool: first, pairs };
}

function isPair(word: string): boolean {
  return /^[^=]+=/.test(word);
}

function onlyServer(servers: readonly ChosenServer[], word: string): ChosenServer {
  const [only, another] = servers;
  if (only !== undefined && another === undefined) return only;
  const isServer = servers.some(({ name }) => name === word);
  throw new UsageError(
    isServer ? `Nothing says which tool of "${word}".` : `Nothing says whose tool "${word}" is.`,
    USAGE,
  );
}
