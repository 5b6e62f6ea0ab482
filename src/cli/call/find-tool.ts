import type { McpToolInfo } from "../../config/tool-info.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import { closestWord } from "../did-you-mean.js";
import { UsageError } from "../usage-error.js";

const MOST_NAMES = 20;

/** By the server's name for it, or by the one that models see. */
export function findTool(tools: readonly McpToolInfo[], server: string, wanted: string): McpToolInfo {
  const found =
    tools.find(({ name }) => name === wanted) ?? tools.find(({ name }) => `${server}__${name}` === wanted);
  if (found !== undefined) return found;
  const names = tools.map(({ name }) => quoteServer(name));
  const meant = closestWord(wanted, names);
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more (see list)` : "";
  const all =
    names.length === 0 ? "It has none." : `Its tools are ${names.slice(0, MOST_NAMES).join(", ")}${more}.`;
  throw new UsageError(
    `Server "${server}" has no tool "${wanted}".`,
    meant === undefined ? all : `Did you mean ${meant}?`,
  );
}
