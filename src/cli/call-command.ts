import type { ToolResult } from "../client/tool-result.js";
import type { JsonObject } from "../definitions/json.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { toReadable } from "../errors/server-text.js";
import { readArguments, toArguments } from "./call-arguments.js";
import { toCallRequest } from "./call-request.js";
import { chooseServers, requireServers } from "./choose-servers.js";
import type { Command, CommandContext, Outcome, Page } from "./command-context.js";
import { exitOf } from "./exit-of.js";
import { toFailureFinding } from "./failure-finding.js";
import type { Finding } from "./finding.js";
import { findTool } from "./find-tool.js";
import { markText } from "./marks.js";
import { withOpenChoice } from "./open-choice.js";
import type { OpenedServer } from "./open-servers.js";
import { contentText, filesOf } from "./result-content.js";
import { sectionLines } from "./section-lines.js";
import { secondsText } from "./time-text.js";
import { writeOutput } from "./write-output.js";

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
    return await done(result, { server: server.name, tool: tool.name, latencyMs }, context);
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

interface CallFacts {
  readonly server: string;
  readonly tool: string;
  readonly latencyMs: number;
}

async function done(
  result: ToolResult,
  facts: CallFacts,
  { line, terminal }: CommandContext,
): Promise<Outcome> {
  const { content, structuredContent, isError, meta } = result;
  const output = line.value("output");
  const files = output === undefined ? [] : filesOf(result, output);
  for (const { file, content: bytes } of files) await writeOutput(file, bytes, terminal);
  const saved = files.map(({ file }) => file);
  // A terminal obeys what it is shown; a pipe gets the text as it is.
  const { isTTY = false } = terminal.stdout;
  const shown = (text: string) => (isTTY ? toReadable(text) : text);
  return {
    exit: isError ? "toolError" : "ok",
    document: { ...facts, isError, content, structuredContent, meta, saved },
    view: ({ paint }) => {
      const lines = saved.map((file) => `${markText("ok", paint)} ${file}`);
      const note = isError && isTTY ? [`${markText("error", paint)} The tool reported an error:`] : [];
      const text = saved.length > 0 ? lines.join("\n") : shown(contentText(result));
      return [...note, text.replace(/\n$/, ""), ""].join("\n");
    },
  };
}

function failed(findings: readonly Finding[]): Outcome {
  const view = (page: Page) => `${sectionLines([], findings, page).join("\n")}\n`;
  return { exit: exitOf(findings), document: { findings }, view, stream: "stderr" };
}
