import type { ParseError } from "jsonc-parser";
import { placeOf, type TextPlace } from "./source-locations.js";

/** `problem` continues the sentence "The file …". */
export type ParsedText =
  | { readonly value: unknown }
  | { readonly problem: string; readonly place?: TextPlace | undefined };

/** What has comments was written by hand. What is longer was not, and would only take long to look at. */
const LONGEST_BY_HAND = 1024 * 1024;

/** JSON, also with comments and trailing commas. What stands in the text is never quoted: it may be a token. */
export async function parseConfigText(text: string): Promise<ParsedText> {
  try {
    // Much faster, and most files are.
    return { value: JSON.parse(text) };
  } catch {
    return text.length > LONGEST_BY_HAND ? { problem: "is broken JSON" } : parseLenient(text);
  }
}

async function parseLenient(text: string): Promise<ParsedText> {
  const { getNodeValue, parseTree, printParseErrorCode } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  try {
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    // Its objects have no prototype, so a key `__proto__` is a key.
    if (first === undefined && tree !== undefined) return { value: getNodeValue(tree) };
    const what = first === undefined ? "it is empty" : inWords(printParseErrorCode(first.error));
    return { problem: `is broken JSON: ${what}`, place: placeOf(text, first?.offset ?? 0) };
  } catch (error) {
    // The parser needs a stack.
    if (error instanceof RangeError) return { problem: "is broken JSON: it is nested too deeply" };
    throw error;
  }
}

/** `CommaExpected` -> `comma expected`. */
function inWords(code: string): string {
  return code.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
