import {
  CACHE_DEFAULTS,
  CONFIG_DEFAULTS,
  FAILURE_KINDS,
  FAILURE_MATRIX,
  type FailureKind,
  MANAGER_DEFAULTS,
  REGISTRY_DEFAULTS,
  SERVER_DEFAULTS,
  TOOL_DEFAULTS,
} from "../../src/index.js";
import { CONFIG_FORMATS } from "../../src/servers/config-formats.js";
import { CONFIG_PLACES } from "../../src/servers/config-places.js";
import { EXIT_CODES } from "../../src/cli/exit-codes.js";
import { FINDINGS } from "../../src/cli/finding.js";
import { STORE_DEFAULTS } from "../../src/stores/index.js";

const OPTION_TEXTS: Record<string, string> = {
  startupMs: "how long a start waits for servers whose tools are in the cache",
  waitForUncached: "whether a start waits for servers of which nothing is known",
  concurrency: "how many servers are connected at the same time; 1 is one after the other",
  strict: "`McpServerManager`: a server that fails undoes the whole attempt",
  dropFailed: "`McpServerManager`: failed servers are not among the `active` ones",
  closeMs: "closing all servers, calls in flight included",
  "timeouts.connectMs": "the handshake (stdio: 60000)",
  "timeouts.requestMs": "one attempt of a request; progress starts it anew",
  "timeouts.totalMs": "a whole call, with handshakes, repetitions and waits",
  "session.maxRecoveries": "new sessions that one call may get after losing its own",
  "session.serialize": "one request at a time",
  "session.drainMs": "how long `close()` waits for calls in flight",
  "session.terminateOnClose":
    "tell the server that the session is over (off for a pinned `session.id`, and with a `session.store`)",
  "session.storeMs": "how long a session is kept in a `session.store`",
  "retry.max": "repetitions of one call, where they are safe (`retry: false`: none)",
  "retry.baseMs": "the shortest wait before one",
  "retry.maxMs": "the longest",
  "retry.isolated": "repeat on a session of its own what may have failed because of the session",
  "breaker.failures": "failures in a row after which a server is left alone (`breaker: false`: never)",
  "breaker.recoveryMs": "for how long",
  "breaker.probes": "attempts at the same time after that",
  "breaker.successes": "successes that take the server back",
  "limits.responseBytes": "the largest message that is read",
  "limits.sockets": "connections at the same time",
  "limits.pages": "pages of one list",
  "limits.tools": "tools of one server",
  "limits.resources": "resources of one server; as many templates",
  "limits.prompts": "prompts of one server",
  "limits.identities": "users with a session of their own; idle ones make room first",
  "limits.serverRequests":
    "requests of the server in one session that handlers answer at a time; others wait",
  schema: "the schema that models see, `portable` or `as-is`",
  structuredContent: "what models see of it: `fallback`, `prefer`, `append`, `artifact`",
  "outputHandling.image": "`content` or `artifact`",
  "outputHandling.audio": "`content` or `artifact`",
  "outputHandling.resource": "`content` or `artifact`",
  outputValidation: "a result that does not fit the `outputSchema`: `warn`, `error`, `off`",
  "limits.contentChars": "characters of text that a model is shown of one result",
  timeoutMs: "one operation (not of a memory store)",
  maxBytes: "the largest entry that is written or read",
  namespace: "keeps entries apart that share a Redis, a table or a `BaseStore`",
  maxEntries: "entries of a memory store; those not used for longest go first",
  maxTotalBytes: "all entries of a memory store together, as JSON",
  "cache.freshMs": "how long a list of tools is used as it is; an older one while one new listing runs",
  "cache.keepMs": "how long a list stays in `cache.store` (a minute in one that many share)",
  "registry.believeMs": "how long what stores say of a server is believed (an option of `ToolRegistry`)",
  "registry.refreshMs": "how often it lists its servers anew",
  "loadMcpServers.project": "whether the files of the project are read",
  "loadMcpServers.user": "whether the files of the user's clients are read",
  onFailure: "a failed tool call: `continue`, `error`, or a function",
  resourceTools: "tools that list and read the resources of each server that has some",
};

/** The folders in which config files are looked for, as people write them. */
const FOLDER_TEXTS: Record<string, string> = {
  project: "",
  home: "~/",
  claude: "~/",
  copilot: "~/.copilot/",
  xdg: "~/.config/",
  config: "<config>/",
};

/** The README's tables, by the name of their place, printed from what the code holds. */
function readmeTables(): Record<string, string> {
  const options = [
    ...rowsOf(SERVER_DEFAULTS).map((row) => ["server", ...row]),
    ...rowsOf(TOOL_DEFAULTS).map((row) => ["tools", ...row]),
    ...rowsOf(STORE_DEFAULTS).map((row) => ["stores", ...row]),
    ...rowsOf({ cache: CACHE_DEFAULTS }).map((row) => ["tools", ...row]),
    ...rowsOf(MANAGER_DEFAULTS).map((row) => ["toolset", ...row]),
    ...rowsOf({ registry: REGISTRY_DEFAULTS }).map((row) => ["registry", ...row]),
    ...rowsOf({ loadMcpServers: CONFIG_DEFAULTS }).map((row) => ["config files", ...row]),
  ];
  const kinds = Object.entries(FAILURE_KINDS).map(([kind, text]) => {
    const { repeat, countsForBreaker } = FAILURE_MATRIX[kind as FailureKind];
    return [`\`${kind}\``, text, repeat, countsForBreaker ? "yes" : "no"];
  });
  const files = CONFIG_PLACES.map(({ scope, path, format }, index) => {
    const [, folder = "", rest = ""] = /^\{(\w+)\}\/(.*)$/.exec(path) ?? [];
    return [`${index + 2}`, scope, `\`${FOLDER_TEXTS[folder]}${rest}\``, CONFIG_FORMATS[format].client];
  });
  return {
    files: table(
      ["", "scope", "file", "as it is written by"],
      [
        ["1", "given", "those of `files`, in their order", "any of these, told by path and content"],
        ...files,
      ],
    ),
    exits: table(
      ["exit code", ""],
      Object.values(EXIT_CODES).map(([code, text]) => [String(code), text]),
    ),
    findings: table(
      ["code", "severity", "what it means"],
      Object.entries(FINDINGS).map(([code, [severity, text]]) => [`\`${code}\``, severity, text]),
    ),
    options: table(["of", "option", "default", "what it limits or does"], options),
    kinds: table(["kind", "what happened", "sent again", "counts for the breaker"], kinds),
  };
}

/** An option that is a group gives a row for each of its own. */
function rowsOf(defaults: object, group = ""): string[][] {
  return Object.entries(defaults).flatMap(([name, value]: [string, unknown]) => {
    const key = `${group}${name}`;
    if (typeof value === "object" && value !== null) return rowsOf(value, `${key}.`);
    const text = OPTION_TEXTS[key];
    if (text === undefined) throw new Error(`The README says nothing about ${key}.`);
    return [[`\`${key}\``, `\`${String(value)}\``, text]];
  });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The README with each table in its place, between `<!-- name -->` and `<!-- /name -->`. */
export function withTables(readme: string): string {
  return Object.entries(readmeTables()).reduce((text, [name, content]) => {
    const place = new RegExp(`(<!-- ${name} -->)[\\s\\S]*?(<!-- /${name} -->)`);
    if (!place.test(text)) throw new Error(`The README has no place for the table "${name}".`);
    return text.replace(place, (_, before: string, after: string) => `${before}\n\n${content}\n\n${after}`);
  }, readme);
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
