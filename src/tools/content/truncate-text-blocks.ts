import { isTextBlock, textBlock, type LangChainBlock } from "./langchain-block.js";

/**
 * Keeps the first `longest` characters of all texts together and says in their place how many are
 * missing. Images, sounds and files are neither counted nor cut.
 */
export function cutTexts(blocks: readonly LangChainBlock[], longest: number): LangChainBlock[] {
  const total = blocks.reduce((sum, block) => sum + (isTextBlock(block) ? block.text.length : 0), 0);
  if (total <= longest) return [...blocks];
  const fitting: LangChainBlock[] = [];
  let taken = 0;
  let isCut = false;
  for (const block of blocks) {
    if (!isTextBlock(block)) {
      fitting.push(block);
    } else if (!isCut && taken + block.text.length <= longest) {
      taken += block.text.length;
      fitting.push(block);
    } else if (!isCut) {
      isCut = true;
      const kept = cutText(block.text, longest - taken);
      const marker = `[… ${count(total - taken - kept.length)} of ${count(total)} characters left out]`;
      fitting.push(textBlock(kept === "" ? marker : `${kept}\n${marker}`));
    }
  }
  return fitting;
}

function cutText(text: string, longest: number): string {
  // Never half a character: an emoji whose second half does not fit goes as a whole.
  const isSplit = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, longest - 1), longest + 1));
  return text.slice(0, isSplit ? longest - 1 : longest);
}

function count(characters: number): string {
  return characters.toLocaleString("en-US");
}
