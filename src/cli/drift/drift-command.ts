import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { compareTools, type ServerDrift, unreachable } from "../../catalog/drift.js";
import type { McpAgentResource } from "../../config/agent-definition.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { parseAgent } from "../../config/parse-agent.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ChosenServer } from "../servers/selected-server.js";
import { type Choice, chooseServers, requireServers } from "../servers/select-servers.js";
import type { Command, CommandContext } from "../command-context.js";
import { driftText, type DriftRow } from "../render/render-drift.js";
import { exitOf } from "../to-exit.js";
import { createFinding, type Finding } from "../findings/finding.js";
import { withOpenChoice } from "../servers/with-connected-selection.js";
import { storedTools } from "./stored-tools.js";
import { UsageError } from "../usage-error.js";

/** What was saved of one server. */
interface Saved {
  readonly name: string;
  readonly server: ChosenServer | undefined;
  readonly tools: readonly McpToolInfo[] | undefined;
}

/** What has changed since a snapshot, or since lists were stored. */
export const driftCommand: Command = async (context) => {
  const choice = requireServers(await chooseServers(context, []));
  const saved = await readSaved(choice, context);
  const comparable = saved.flatMap(({ server, tools }) => (tools === undefined ? [] : (server ?? [])));
  return withOpenChoice({ ...choice, servers: comparable }, context, async ({ opened, findings }) => {
    const rows = saved.map(({ name, server, tools = [] }): DriftRow => {
      const now = opened.find((one) => one.server === server);
      return {
        name,
        drift: now === undefined ? undefined : driftOf(tools, now.tools, now.error),
        tools: tools.length,
      };
    });
    // What is wrong with servers that nothing was saved of is another matter.
    const ours = findings.filter(({ server }) => saved.some(({ name }) => name === (server ?? name)));
    const all = [...ours, ...saved.flatMap(missingOf)];
    const hasDrifted = rows.some(({ drift }) => drift?.state === "changed");
    return {
      exit: hasDrifted ? "drifted" : exitOf(all),
      document: { servers: rows.map(({ name, drift }) => ({ name, ...toDocument(drift) })), findings: all },
      view: (page) => driftText({ rows, findings: all }, page),
    };
  });
};

async function readSaved(choice: Choice, context: CommandContext): Promise<Saved[]> {
  const { line } = context;
  const [file, ...others] = line.words;
  const folder = line.value("store");
  if ((file === undefined) === (folder === undefined) || others.length > 0)
    throw new UsageError(
      "drift compares with one thing.",
      "Write drift agent.json, or drift --store .cache/mcp.",
    );
  if (folder !== undefined) {
    const stored = await storedTools(choice.servers, resolve(context.terminal.cwd, folder));
    return choice.servers.map((server) => ({ name: server.name, server, tools: stored.get(server.name) }));
  }
  const resources = await readAgent(file ?? "", context);
  return resources.map((resource) => {
    const server = serverOf(resource, resources, choice);
    return { name: resource.name, server, tools: resource.availableTools };
  });
}

/** Resources whose tools are always listed live have nothing to compare with. */
async function readAgent(file: string, { terminal }: CommandContext): Promise<McpAgentResource[]> {
  const text = await readFile(resolve(terminal.cwd, file), "utf8").catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${file} cannot be read: ${why}.`, "Make a snapshot first: snapshot -o agent.json.");
  });
  try {
    const { resources } = parseAgent(text);
    const saved = resources.filter(({ isEnabled, discovery }) => isEnabled && discovery.type === "cached");
    if (saved.length > 0) return saved;
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    throw new UsageError(
      `${file}: ${error.message}`,
      "Correct it, or make a new one: snapshot -o agent.json.",
    );
  }
  throw new UsageError(
    `${file} has no tools that were saved.`,
    "Make a snapshot first: snapshot -o agent.json.",
  );
}

/** By slug or name, as the factories find it; the one server of the command line is meant for the one resource. */
function serverOf(
  { slug, name }: McpAgentResource,
  resources: readonly McpAgentResource[],
  { servers }: Choice,
): ChosenServer | undefined {
  const [only] = servers;
  const meant = resources.length === 1 && only?.scope === "command-line" ? only : undefined;
  const found = [slug, name].flatMap((key) => servers.find((server) => server.name === key) ?? []);
  const [server = meant] = found;
  // It is told of by the name that the agent has for it.
  return server && { ...server, name };
}

function driftOf(
  saved: readonly McpToolInfo[],
  now: readonly McpToolInfo[] | undefined,
  error: McpRuntimeError | undefined,
): ServerDrift {
  if (now !== undefined) return compareTools({ tools: saved, isSaved: true }, now);
  return unreachable(error ?? new McpRuntimeError("not-sent", "It was not asked."));
}

function missingOf({ name, server, tools }: Saved): Finding[] {
  if (server === undefined) {
    const text = "Nothing says where its server is.";
    const next = `Add "${name}" to .mcp.json, or give --url (or --config).`;
    return [createFinding("config-missing", { server: name, text, next })];
  }
  if (tools !== undefined) return [];
  const text = "The store has no list of its tools.";
  const next = "Run the program that fills the store, with the same definition of this server.";
  return [createFinding("nothing-saved", { server: name, text, next })];
}

function toDocument(drift: ServerDrift | undefined) {
  if (drift === undefined) return { state: "unknown", added: [], removed: [], changed: [] };
  const { state, added, removed, changed } = drift;
  return { state, added, removed, changed };
}
