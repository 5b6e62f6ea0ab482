import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import { stripHiddenCharacters } from "../../errors/sanitize-text.js";
import type { CommandContext, Outcome } from "../command-context.js";
import { renderStatus } from "../terminal/colors.js";
import { renderBlock, renderContent, toOutputFiles } from "../render/result-content.js";
import type { OutputStream } from "../terminal/terminal.js";
import { writeOutput } from "../terminal/write-output.js";

interface CallInfo {
  readonly server: string;
  readonly tool: string;
  readonly latencyMs: number;
}

type OutputContext = Pick<CommandContext, "line" | "terminal">;

/** Writes the result to `--output` if requested, and renders it. */
export async function toCallOutcome(
  result: ToolResult,
  info: CallInfo,
  context: OutputContext,
): Promise<Outcome> {
  const { line, terminal } = context;
  if (result.isError) return toErrorOutcome(result, info, context);
  const output = line.value("output");
  const files = output === undefined ? [] : toOutputFiles(result, output);
  for (const { file, content } of files) await writeOutput(file, content, terminal);
  return {
    exit: "ok",
    json: { ...info, ...resultToJson(result), saved: files.map(({ file }) => file) },
    render: ({ colors }) => {
      const formatFile = (file: string) => `${renderStatus("ok", colors)} ${file}`;
      const [first] = files;
      if (first !== undefined && first.block === undefined) return `${formatFile(first.file)}\n`;
      const savedLines = new Map(files.map(({ block, file }) => [block, formatFile(file)]));
      return renderResult(result, terminal.stdout, savedLines);
    },
  };
}

/** A tool error is not written to the output file. */
function toErrorOutcome(result: ToolResult, info: CallInfo, { line, terminal }: OutputContext): Outcome {
  const output = line.value("output");
  const stream = output === undefined ? "stdout" : "stderr";
  return {
    exit: "toolError",
    json: { ...info, ...resultToJson(result), saved: [] },
    stream,
    render: ({ colors }) => {
      const suffix = output === undefined ? "" : `; ${output} was not written`;
      const notice = `${renderStatus("error", colors)} The tool reported an error${suffix}:\n`;
      const showsNotice = output !== undefined || terminal[stream].isTTY === true;
      return `${showsNotice ? notice : ""}${renderResult(result, terminal[stream])}`;
    },
  };
}

function resultToJson({ isError, content, structuredContent, meta }: ToolResult) {
  return { isError, content, structuredContent, meta };
}

/** Strips escape sequences for a terminal; a pipe gets the original text. Saved blocks are replaced by their file name. */
function renderResult(
  result: ToolResult,
  { isTTY = false }: OutputStream,
  saved: ReadonlyMap<ContentBlock | undefined, string> = new Map(),
): string {
  const sanitize = (text: string) => (isTTY ? stripHiddenCharacters(text) : text);
  const text =
    saved.size === 0
      ? sanitize(renderContent(result))
      : renderContent(result, (block) => saved.get(block) ?? sanitize(renderBlock(block)));
  return `${text.replace(/\n$/, "")}\n`;
}
