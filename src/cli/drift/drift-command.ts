import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { compareTools, type ServerDrift, createUnreachableDrift } from "../../catalog/drift.js";
import type { McpAgentResource } from "../../config/agent/agent-definition.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { parseAgent } from "../../config/agent/parse-agent.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { SelectedServer } from "../servers/selected-server.js";
import { type ServerSelection, selectServers, requireServers } from "../servers/select-servers.js";
import type { Command, CommandContext } from "../command-context.js";
import { renderDrift, type DriftRow } from "../render/render-drift.js";
import { toExit, createFinding, type Finding } from "../findings/finding.js";
import { withConnectedSelection } from "../servers/connect-servers.js";
import { UsageError } from "../exit-codes.js";
import { ToolListStore } from "../../catalog/tool-list-store.js";
import { parseServer } from "../../config/parse-server.js";
import { serverFingerprint } from "../../config/server-fingerprint.js";
import { fileStore } from "../../stores/drivers/file-store.js";
import type { KeyValueStore } from "../../stores/key-value-store.js";

/** The saved tools of one server. */
interface Baseline {
  readonly name: string;
  readonly server: SelectedServer | undefined;
  readonly tools: readonly McpToolInfo[] | undefined;
}

/** Compares the tools of servers with a snapshot or with stored lists. */
export const driftCommand: Command = async (context) => {
  const selection = requireServers(await selectServers(context, []));
  const baselines = await readBaselines(selection, context);
  const comparable = baselines.flatMap(({ server, tools }) => (tools === undefined ? [] : (server ?? [])));
  return withConnectedSelection(
    { ...selection, servers: comparable },
    context,
    async ({ connected, findings }) => {
      const rows = baselines.map(({ name, server, tools = [] }): DriftRow => {
        const current = connected.find((candidate) => candidate.server === server);
        return {
          name,
          drift: current === undefined ? undefined : toDrift(tools, current.tools, current.error),
          tools: tools.length,
        };
      });
      // Findings about servers without a baseline are not relevant here.
      const relevant = findings.filter(({ server }) =>
        baselines.some(({ name }) => name === (server ?? name)),
      );
      const all = [...relevant, ...baselines.flatMap(findMissing)];
      const hasDrifted = rows.some(({ drift }) => drift?.state === "changed");
      return {
        exit: hasDrifted ? "drifted" : toExit(all),
        json: { servers: rows.map(({ name, drift }) => ({ name, ...driftToJson(drift) })), findings: all },
        render: (page) => renderDrift({ rows, findings: all }, page),
      };
    },
  );
};

async function readBaselines(selection: ServerSelection, context: CommandContext): Promise<Baseline[]> {
  const { line } = context;
  const [file, ...extra] = line.positionals;
  const folder = line.value("store");
  if ((file === undefined) === (folder === undefined) || extra.length > 0)
    throw new UsageError(
      "drift needs exactly one baseline.",
      "Use drift agent.json or drift --store .cache/mcp.",
    );
  if (folder !== undefined) {
    const stored = await readStoredTools(selection.servers, resolve(context.terminal.cwd, folder));
    return selection.servers.map((server) => ({ name: server.name, server, tools: stored.get(server.name) }));
  }
  const resources = await readAgent(file ?? "", context);
  return resources.map((resource) => {
    const server = findServer(resource, resources, selection);
    return { name: resource.name, server, tools: resource.availableTools };
  });
}

/** Resources with live discovery have no saved tools and are skipped. */
async function readAgent(file: string, { terminal }: CommandContext): Promise<McpAgentResource[]> {
  const text = await readFile(resolve(terminal.cwd, file), "utf8").catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `${file} cannot be read: ${reason}.`,
      "Create a snapshot first: snapshot -o agent.json.",
    );
  });
  try {
    const { resources } = parseAgent(text);
    const baselines = resources.filter(
      ({ isEnabled, discovery }) => isEnabled && discovery.type === "cached",
    );
    if (baselines.length > 0) return baselines;
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    throw new UsageError(
      `${file}: ${error.message}`,
      "Correct it, or create a new one: snapshot -o agent.json.",
    );
  }
  throw new UsageError(`${file} has no saved tools.`, "Create a snapshot first: snapshot -o agent.json.");
}

/** Finds a server by slug or name. A single server of the command line matches a single resource. */
function findServer(
  { slug, name }: McpAgentResource,
  resources: readonly McpAgentResource[],
  { servers }: ServerSelection,
): SelectedServer | undefined {
  const [first] = servers;
  const onlyServer = resources.length === 1 && first?.scope === "command-line" ? first : undefined;
  const matches = [slug, name].flatMap((key) => servers.find((server) => server.name === key) ?? []);
  const [server = onlyServer] = matches;
  // Findings use the name of the resource.
  return server && { ...server, name };
}

function toDrift(
  baseline: readonly McpToolInfo[],
  current: readonly McpToolInfo[] | undefined,
  error: McpRuntimeError | undefined,
): ServerDrift {
  if (current !== undefined) return compareTools({ tools: baseline, isSnapshot: true }, current);
  return createUnreachableDrift(error ?? new McpRuntimeError("not-sent", "The server was not contacted."));
}

function findMissing({ name, server, tools }: Baseline): Finding[] {
  if (server === undefined) {
    const text = "No server is configured for this resource.";
    const hint = `Add "${name}" to .mcp.json, or use --url or --config.`;
    return [createFinding("config-missing", { server: name, text, hint })];
  }
  if (tools !== undefined) return [];
  const text = "The store has no tool list of this server.";
  const hint = "Run the program that fills the store with the same server definition.";
  return [createFinding("nothing-saved", { server: name, text, hint })];
}

function driftToJson(drift: ServerDrift | undefined) {
  if (drift === undefined) return { state: "unknown", added: [], removed: [], changed: [] };
  const { state, added, removed, changed } = drift;
  return { state, added, removed, changed };
}

/** The identity of tool lists that are shared by all callers. */
const SHARED_IDENTITY = "";

/** Reads the tool lists that a program stored in a file store. Does not write. */
async function readStoredTools(
  servers: readonly SelectedServer[],
  folder: string,
): Promise<ReadonlyMap<string, readonly McpToolInfo[]>> {
  await using store = fileStore(folder);
  const lists = await Promise.all(servers.map((server) => readTools(store, server)));
  return new Map(
    servers.flatMap(({ name }, index) => (lists[index] === undefined ? [] : [[name, lists[index]]])),
  );
}

async function readTools(
  store: KeyValueStore,
  { name, definition }: SelectedServer,
): Promise<readonly McpToolInfo[] | undefined> {
  const lists = new ToolListStore({
    server: name,
    fingerprint: serverFingerprint(parseServer(name, definition)),
    store,
    ttlMs: 0,
    now: Date.now,
    warn: () => undefined,
  });
  return (await lists.read(SHARED_IDENTITY))?.tools;
}
