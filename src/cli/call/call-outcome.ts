import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import { toReadable } from "../../errors/sanitize-text.js";
import type { CommandContext, Outcome } from "../command-context.js";
import { markText } from "../terminal/symbols.js";
import { blockText, contentText, filesOf } from "../render/result-content.js";
import type { OutputStream } from "../terminal/terminal.js";
import { writeOutput } from "../terminal/write-output.js";

interface CallFacts {
  readonly server: string;
  readonly tool: string;
  readonly latencyMs: number;
}

type Surroundings = Pick<CommandContext, "line" | "terminal">;

/** The result of a tool: saved where `--output` wants it, and shown. */
export async function toCallOutcome(
  result: ToolResult,
  facts: CallFacts,
  context: Surroundings,
): Promise<Outcome> {
  const { line, terminal } = context;
  if (result.isError) return ofFailure(result, facts, context);
  const output = line.value("output");
  const files = output === undefined ? [] : filesOf(result, output);
  for (const { file, content } of files) await writeOutput(file, content, terminal);
  return {
    exit: "ok",
    document: { ...facts, ...toDocument(result), saved: files.map(({ file }) => file) },
    view: ({ paint }) => {
      const lineOf = (file: string) => `${markText("ok", paint)} ${file}`;
      const [first] = files;
      if (first !== undefined && first.block === undefined) return `${lineOf(first.file)}\n`;
      const places = new Map(files.map(({ block, file }) => [block, lineOf(file)]));
      return resultText(result, terminal.stdout, places);
    },
  };
}

/** What a tool says of its failure is not what the file is for. */
function ofFailure(result: ToolResult, facts: CallFacts, { line, terminal }: Surroundings): Outcome {
  const output = line.value("output");
  const stream = output === undefined ? "stdout" : "stderr";
  return {
    exit: "toolError",
    document: { ...facts, ...toDocument(result), saved: [] },
    stream,
    view: ({ paint }) => {
      const unwritten = output === undefined ? "" : `, and ${output} was not written`;
      const note = `${markText("error", paint)} The tool reported an error${unwritten}:\n`;
      const isTold = output !== undefined || terminal[stream].isTTY === true;
      return `${isTold ? note : ""}${resultText(result, terminal[stream])}`;
    },
  };
}

function toDocument({ isError, content, structuredContent, meta }: ToolResult) {
  return { isError, content, structuredContent, meta };
}

/** A terminal obeys what it is shown; a pipe gets the text as it is. Of what was saved, it says where. */
function resultText(
  result: ToolResult,
  { isTTY = false }: OutputStream,
  saved: ReadonlyMap<ContentBlock | undefined, string> = new Map(),
): string {
  const shown = (text: string) => (isTTY ? toReadable(text) : text);
  const text =
    saved.size === 0
      ? shown(contentText(result))
      : contentText(result, (block) => saved.get(block) ?? shown(blockText(block)));
  return `${text.replace(/\n$/, "")}\n`;
}
