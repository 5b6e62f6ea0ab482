import type { ToolResult } from "../../client/tool-result.js";
import type { JsonObject } from "../../json/json.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { toReadable } from "../../errors/sanitize-text.js";
import { readArguments, toArguments } from "./call-arguments.js";
import { toCallOutcome } from "./call-outcome.js";
import { toCallRequest } from "./parse-call.js";
import { chooseServers, requireServers } from "../servers/select-servers.js";
import type { Command, CommandContext, Outcome, Page } from "../command-context.js";
import { exitOf } from "../to-exit.js";
import { toFailureFinding } from "../findings/failure-finding.js";
import type { Finding } from "../findings/finding.js";
import { findTool } from "./find-tool.js";
import { withOpenChoice } from "../servers/with-connected-selection.js";
import type { OpenedServer } from "../servers/connect-servers.js";
import { sectionLines } from "../render/render-sections.js";
import { secondsText } from "../terminal/format-time.js";

/** Calls one tool. Nobody is asked for approval: whoever typed it has meant it. */
export const callCommand: Command = async (context) => {
  const { line } = context;
  const all = requireServers(await chooseServers(context, []));
  const request = toCallRequest(line.words, all);
  const choice = requireServers(await chooseServers(context, [request.server]));
  const given = await readArguments(context);
  return withOpenChoice(choice, context, async ({ opened: [opened], findings }) => {
    if (opened?.tools === undefined) return failed(findings);
    const tool = findTool(opened.tools, request.server, request.tool);
    return callTool(opened, tool, toArguments(given, request, tool), context);
  });
};

async function callTool(
  opened: OpenedServer,
  tool: McpToolInfo,
  args: JsonObject,
  context: CommandContext,
): Promise<Outcome> {
  const { client, server } = opened;
  const startedAt = performance.now();
  try {
    const result = await withLiveLine(tool.name, context, (onProgress) =>
      client.callTool({ name: tool.name, args }, { signal: context.signal, onProgress }),
    );
    const latencyMs = Math.round(performance.now() - startedAt);
    return await toCallOutcome(result, { server: server.name, tool: tool.name, latencyMs }, context);
  } catch (error) {
    if (!(error instanceof McpRuntimeError) || context.signal.aborted) throw error;
    return failed([toFailureFinding(error, server, true)]);
  }
}

async function withLiveLine(
  tool: string,
  { live }: CommandContext,
  call: (
    onProgress: (progress: { progress: number; total?: number | undefined }) => void,
  ) => Promise<ToolResult>,
): Promise<ToolResult> {
  const startedAt = performance.now();
  let progress = "";
  const hide = live.show(
    () => `calling ${toReadable(tool)}  ${secondsText(performance.now() - startedAt)}${progress}`,
  );
  try {
    return await call(({ progress: value, total }) => {
      progress = `  ${value}${total === undefined ? "" : `/${total}`}`;
    });
  } finally {
    hide();
  }
}

function failed(findings: readonly Finding[]): Outcome {
  const view = (page: Page) => `${sectionLines([], findings, page).join("\n")}\n`;
  return { exit: exitOf(findings), document: { findings }, view, stream: "stderr" };
}
