import { findLargest } from "../json/json.js";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { compareTools, createUnreachableDrift, type ServerDrift, type ToolChange } from "../catalog/drift.js";
import { ToolListStore } from "../catalog/tool-list-store.js";
import type { McpAgentResource } from "../config/agent-definition.js";
import type { McpToolInfo } from "../config/server-features.js";
import { parseAgent } from "../config/parse-agent.js";
import { serverFingerprint } from "../config/server-fingerprint.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { pluralize } from "../errors/sanitize-text.js";
import { describeChange } from "../json-schema/diff/parameter-change.js";
import { fileStore } from "../stores/drivers/file-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import type { Command, CommandContext } from "./command-context.js";
import { UsageError } from "./exit-codes.js";
import { createFinding, type Finding, toExit } from "./report/finding.js";
import { renderSections } from "./report/render-findings.js";
import { type ConnectedServer, withConnectedServers } from "./servers/connect-servers.js";
import { requireServers, selectServers, type ServerSelection } from "./servers/select-servers.js";
import type { SelectedServer } from "./servers/selected-server.js";
import { type Page, renderStatus, type Status } from "./terminal.js";
import { escapeExcerpt, padToWidth, textWidth, wrapIndented } from "./text-format.js";
import { SHARED_IDENTITY } from "../session/session.js";

/** The saved tools of one server. */
interface Baseline {
  readonly name: string;
  /** Undefined if no server is configured for the resource of the agent. */
  readonly server: SelectedServer | undefined;
  /** Undefined if the store has none. */
  readonly tools: readonly McpToolInfo[] | undefined;
}

interface ComparedBaseline extends Baseline {
  /** Undefined if there was nothing to compare. */
  readonly drift: ServerDrift | undefined;
}

const NOT_COMPARED = { state: "unknown", added: [], removed: [], changed: [] };

/** Compares the tools of servers with a snapshot or with stored lists. */
export const driftCommand: Command = async (context) => {
  const source = parseBaselineSource(context);
  const resources = source.file === undefined ? [] : await readAgent(source.file, context);
  const selection = requireServers(await selectServers(context, []));
  const baselines =
    source.folder === undefined
      ? toBaselines(resources, selection)
      : await readStored(source.folder, selection, context);
  const servers = baselines.flatMap(({ server, tools }) => (tools === undefined ? [] : (server ?? [])));
  return withConnectedServers({ ...selection, servers }, context, async ({ connected, findings }) => {
    const rows = baselines.map((baseline): ComparedBaseline => {
      const current = connected.find(({ server }) => server === baseline.server);
      return { ...baseline, drift: current && toDrift(baseline, current) };
    });
    // Findings about servers without a baseline are not relevant here.
    const relevant = findings.filter(({ server }) => rows.some(({ name }) => name === (server ?? name)));
    const all = [...relevant, ...rows.flatMap(findMissing)];
    const hasDrifted = rows.some(({ drift }) => drift?.state === "changed");
    return {
      exit: hasDrifted ? "drifted" : toExit(all),
      json: {
        servers: rows.map(({ name, drift }) => {
          const { state, added, removed, changed } = drift ?? NOT_COMPARED;
          return { name, state, added, removed, changed };
        }),
        findings: all,
      },
      render: (page) => renderDrift(rows, all, page),
    };
  });
};

/** What to compare with: the file of an agent, or the folder of a store. */
type BaselineSource =
  | { readonly file: string; readonly folder?: undefined }
  | { readonly file?: undefined; readonly folder: string };

function parseBaselineSource({ line, terminal }: CommandContext): BaselineSource {
  const [file, ...extra] = line.positionals;
  const folder = line.value("store");
  if (extra.length === 0 && file !== undefined && folder === undefined) return { file };
  if (file === undefined && folder !== undefined) return { folder: resolve(terminal.cwd, folder) };
  throw new UsageError(
    "drift needs exactly one baseline.",
    "Use drift agent.json or drift --store .cache/mcp.",
  );
}

async function readStored(
  folder: string,
  { servers }: ServerSelection,
  { logger }: CommandContext,
): Promise<Baseline[]> {
  await using store = fileStore(folder, { logger });
  const reading = servers.map(async (server) => ({
    name: server.name,
    server,
    tools: await readStoredTools(store, server),
  }));
  return await Promise.all(reading);
}

function toBaselines(resources: McpAgentResource[], selection: ServerSelection): Baseline[] {
  return resources.map((resource) => {
    const server = findServer(resource, resources, selection);
    return { name: resource.name, server, tools: resource.availableTools };
  });
}

/** Resources with live discovery have no saved tools and are skipped. */
async function readAgent(file: string, { terminal }: CommandContext): Promise<McpAgentResource[]> {
  const text = await readFile(resolve(terminal.cwd, file), "utf8").catch((error: Error) => {
    throw new UsageError(
      `${file} cannot be read: ${error.message}.`,
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

/** Reads the tools that a program stored. Does not write. */
async function readStoredTools(
  store: KeyValueStore,
  { name, config }: SelectedServer,
): Promise<readonly McpToolInfo[] | undefined> {
  const lists = new ToolListStore({
    server: name,
    fingerprint: serverFingerprint(config),
    store,
    ttlMs: 0,
    maxTools: config.limits.tools,
    now: Date.now,
    warn: () => undefined,
  });
  return (await lists.read(SHARED_IDENTITY))?.tools;
}

function toDrift({ tools = [] }: Baseline, current: ConnectedServer): ServerDrift | undefined {
  if (current.tools !== undefined) return compareTools({ tools, isSnapshot: true }, current.tools);
  return current.error && createUnreachableDrift(current.error);
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

/** Renders each server with its tool changes. */
function renderDrift(rows: readonly ComparedBaseline[], findings: readonly Finding[], page: Page): string[] {
  const width = findLargest(rows.map(({ name }) => textWidth(name)));
  const sections = rows.map(({ name, drift, tools = [] }) => {
    const [status, state] = describeState(drift, tools.length);
    const title = page.colors.bold(padToWidth(name, width));
    const line = `${renderStatus(status, page.colors)} ${title}  ${state}`;
    return { server: name, lines: [line, ...renderChanges(drift, page)] };
  });
  return renderSections(sections, findings, page);
}

function describeState(drift: ServerDrift | undefined, tools: number): [Status, state: string] {
  if (drift === undefined) return ["error", "not compared"];
  const { state, removed, changed } = drift;
  if (state === "unreachable") return ["error", "unreachable, not compared"];
  if (state === "same") return ["ok", `unchanged (${pluralize(tools, "tool")})`];
  const isBreaking = removed.length > 0 || changed.some(({ change }) => change === "breaking");
  return isBreaking ? ["error", "changed; calls may fail"] : ["warning", "changed; calls still work"];
}

function renderChanges(drift: ServerDrift | undefined, { colors, columns }: Page): string[] {
  const { added = [], removed = [], changed = [] } = drift ?? {};
  const changes = [
    ...removed.map((name) => [colors.error("-"), escapeExcerpt(name)] as const),
    ...added.map((name) => [colors.success("+"), escapeExcerpt(name)] as const),
    ...changed.map((change) => [colors.warning("~"), formatChange(change)] as const),
  ];
  return changes.flatMap(([symbol, text]) => wrapIndented(text, columns, 6, `    ${symbol} `));
}

function formatChange({ tool, change, parameters, isDescriptionChanged }: ToolChange): string {
  const changes = parameters.map(({ parameter, what }) =>
    describeChange({ parameter: escapeExcerpt(parameter), what }),
  );
  const descriptionChange = isDescriptionChanged ? ["changed description"] : [];
  const breaking = change === "breaking" ? " (breaking)" : "";
  return `${escapeExcerpt(tool)}${breaking}: ${[...changes, ...descriptionChange].join(", ") || "changed schema"}`;
}
