import type { McpToolInfo } from "../config/list-items.js";
import { toPortableSchema } from "../json-schema/portable-schema.js";
import type { JsonObject } from "../json/json.js";
import { estimateTokens } from "../tool-search/estimate-tokens.js";
import { addDescriptionRest, resolveDescriptions, toToolDescription } from "../tools/tool-description.js";
import { toToolName } from "../tools/tool-names.js";
import { findTool, parseToolPositionals, toFailedOutcome } from "./call-command.js";
import type { Command } from "./command-context.js";
import { UsageError } from "./exit-codes.js";
import { NAMING, pluralize, toolToJson } from "./report/render-servers.js";
import { withConnectedServers } from "./servers/connect-servers.js";
import { filterByName, requireServers, selectServers } from "./servers/select-servers.js";
import type { SelectedServer } from "./servers/selected-server.js";
import { formatJson, type Page } from "./terminal.js";

const USAGE = "Usage: describe <server> <tool>, for example: describe weather forecast.";

/** Shows everything about one tool: as the server lists it, and as a model sees it by default. */
export const describeCommand: Command = async (context) => {
  const all = requireServers(await selectServers(context, []));
  const { server, tool: name, pairs } = parseToolPositionals(context.line.positionals, all, USAGE);
  if (pairs.length > 0) throw new UsageError("describe takes no arguments of a tool.", USAGE);
  const selection = requireServers(filterByName(all, [server]));
  return withConnectedServers(selection, context, async ({ connected: [connected], findings }) => {
    if (connected?.tools === undefined) return toFailedOutcome(findings);
    const tool = findTool(connected.tools, server, name);
    const model = toModelTool(tool, connected.server);
    const listed = toolToJson(tool, connected.server.redactor);
    return {
      exit: "ok",
      json: { server, tool: listed, model },
      render: (page) => renderTool(listed, model, page),
    };
  });
};

/** A tool as models see it. */
interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** What it takes of the context of a model, estimated. */
  readonly tokens: number;
}

function toModelTool(tool: McpToolInfo, { name: server, config, redactor }: SelectedServer): ModelTool {
  const limits = resolveDescriptions(config.descriptions);
  const described = toToolDescription(tool, { server, limits });
  const { schema } = addDescriptionRest(toPortableSchema(tool.inputSchema).schema, described);
  const seen = { ...tool, description: described.shown, inputSchema: schema };
  const { description, inputSchema } = toolToJson(seen, redactor) as Pick<
    ModelTool,
    "description" | "inputSchema"
  >;
  const name = toToolName({ server, tool: tool.name }, NAMING);
  const tokens = estimateTokens(JSON.stringify({ name, description, parameters: inputSchema }));
  return { name, description, inputSchema, tokens };
}

function renderTool(tool: JsonObject, model: ModelTool, { colors }: Page): string[] {
  const [title, description] = [toText(tool["title"]), toText(tool["description"])];
  const section = (heading: string, text: string) => ["", colors.bold(heading), ...text.split("\n")];
  const isShortened = model.description !== description.trim();
  return [
    colors.bold(toText(tool["name"])),
    ...(title === "" ? [] : [title]),
    ...(description === "" ? ["(no description)"] : description.split("\n")),
    ...section("Schema of the server", formatJson(tool["inputSchema"])),
    ...(tool["outputSchema"] === undefined ? [] : section("Output schema", formatJson(tool["outputSchema"]))),
    ...(tool["annotations"] === undefined ? [] : section("Annotations", formatJson(tool["annotations"]))),
    ...(tool["icons"] === undefined ? [] : section("Icons", formatJson(tool["icons"]))),
    ...(tool["_meta"] === undefined ? [] : section("_meta", formatJson(tool["_meta"]))),
    ...section(`Schema for models, as ${model.name}`, formatJson(model.inputSchema)),
    ...(isShortened ? section("Description for models", model.description) : []),
    "",
    `About ${pluralize(model.tokens, "token")} in the context of a model (one for four characters).`,
  ];
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
