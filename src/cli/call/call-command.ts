import type { ToolResult } from "../../client/tool-result.js";
import type { JsonObject } from "../../json/json.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { readArguments, toArguments, parseCall, findTool } from "./parse-call.js";
import { toCallOutcome } from "./call-outcome.js";
import { selectServers, requireServers } from "../servers/select-servers.js";
import type { Command, CommandContext, Outcome, Page } from "../command-context.js";
import { toExit, type Finding } from "../findings/finding.js";
import { toFailureFinding } from "../findings/failure-finding.js";
import { withConnectedSelection, type ConnectedServer } from "../servers/connect-servers.js";
import { renderSections } from "../render/render-sections.js";
import { formatSeconds } from "../terminal/text-format.js";

/** Calls one tool. Approval rules do not apply: the user typed the call. */
export const callCommand: Command = async (context) => {
  const { line } = context;
  const all = requireServers(await selectServers(context, []));
  const request = parseCall(line.positionals, all);
  const selection = requireServers(await selectServers(context, [request.server]));
  const baseArgs = await readArguments(context);
  return withConnectedSelection(selection, context, async ({ connected: [connected], findings }) => {
    if (connected?.tools === undefined) return toFailedOutcome(findings);
    const tool = findTool(connected.tools, request.server, request.tool);
    return callTool(connected, tool, toArguments(baseArgs, request, tool), context);
  });
};

async function callTool(
  connected: ConnectedServer,
  tool: McpToolInfo,
  args: JsonObject,
  context: CommandContext,
): Promise<Outcome> {
  const { client, server } = connected;
  const startedAt = performance.now();
  try {
    const result = await withSpinner(tool.name, context, (onProgress) =>
      client.callTool({ name: tool.name, args }, { signal: context.signal, onProgress }),
    );
    const latencyMs = Math.round(performance.now() - startedAt);
    return await toCallOutcome(result, { server: server.name, tool: tool.name, latencyMs }, context);
  } catch (error) {
    if (!(error instanceof McpRuntimeError) || context.signal.aborted) throw error;
    return toFailedOutcome([toFailureFinding(error, server, true)]);
  }
}

async function withSpinner(
  tool: string,
  { spinner }: CommandContext,
  call: (
    onProgress: (progress: { progress: number; total?: number | undefined }) => void,
  ) => Promise<ToolResult>,
): Promise<ToolResult> {
  const startedAt = performance.now();
  let progress = "";
  const stopSpinner = spinner.show(
    () =>
      `calling ${stripHiddenCharacters(tool)}  ${formatSeconds(performance.now() - startedAt)}${progress}`,
  );
  try {
    return await call(({ progress: value, total }) => {
      progress = `  ${value}${total === undefined ? "" : `/${total}`}`;
    });
  } finally {
    stopSpinner();
  }
}

function toFailedOutcome(findings: readonly Finding[]): Outcome {
  const render = (page: Page) => `${renderSections([], findings, page).join("\n")}\n`;
  return { exit: toExit(findings), json: { findings }, render, stream: "stderr" };
}
