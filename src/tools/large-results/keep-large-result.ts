import { printValue } from "../../errors/sanitize-text.js";
import { isTextBlock, type LangChainBlock, textBlock, toContent } from "../content/langchain-block.js";
import { countTextChars, formatCount, type ToolContent } from "../content/tool-content.js";
import { resolveOutput } from "../tool-options.js";
import { isAllowedInTime, type ToolRun } from "../tool-run.js";
import { isMovedByDeepAgent, type LargeResultStore } from "./large-result-store.js";
import { ResultText } from "./result-text.js";

/**
 * Keeps a result whose text is too long, and returns what the model sees of it: its start, its end and its handle. Returns
 * the truncated content if the model could not read the rest, or if the result cannot be kept.
 */
export async function keepLargeResult(
  run: ToolRun,
  resultStore: LargeResultStore,
  { content, whole }: Required<Pick<ToolContent, "content" | "whole">>,
): Promise<string | LangChainBlock[]> {
  const { reader, options } = resultStore;
  const { runtime, context } = run;
  const { runConfig, state } = context;
  const chars = countTextChars(whole);
  if (isMovedByDeepAgent(state, chars)) return toContent([...whole]);
  if (reader === undefined) return content;
  const isReadable = await run.runAfterwards((cancellation, maxMs) =>
    isAllowedInTime(reader, runConfig, { cancellation, maxMs }),
  );
  if (!isReadable) return content;
  try {
    const texts = whole.filter(isTextBlock).map(({ text }) => text);
    const { server } = runtime;
    const handle = await resultStore.keep({ server, context: context.toPlainContext(), texts });
    const text = new ResultText(texts, options.readChars);
    const { contentChars } = resolveOutput(runtime.settings, runtime.caller.output);
    const preview = text.preview(Math.min(options.previewChars, contentChars));
    const size = `${formatCount(chars)} characters in ${formatCount(text.lineCount)} lines`;
    const hint = `This result has ${size}; only its start and its end are shown. Read the rest with ${reader.name} and handle "${handle}": by line (from, to), by pattern (grep) or, if it is JSON, by path (jsonPath).`;
    const media = whole.filter((block) => !isTextBlock(block));
    return toContent([textBlock(`${preview}\n\n[${hint}]`), ...media]);
  } catch (error) {
    runtime.warn(`A large result could not be kept and was truncated: ${printValue(error)}`);
    return content;
  }
}
