import { PROJECT_FILES } from "../../config/files/config-locations.js";
import type { Page } from "../command-context.js";
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  type CommandInfo,
  COMMON_OPTIONS,
  OPTIONS,
  type OptionName,
  type OptionInfo,
  SERVER_OPTIONS,
} from "../commands.js";
import { EXIT_CODES } from "../exit-codes.js";
import { padToWidth, textWidth, wrapToWidth } from "../terminal/text-format.js";

const PROGRAM = "npx langchain-mcp-runtime";
const ABOUT = "List, call, diagnose and snapshot MCP servers.";
const MAX_WIDTH = 100;

type Row = readonly [left: string, right: string];

/** Renders the overview, or the help of one command. */
export function renderHelp(command: CommandName | undefined, page: Page): string {
  const sections =
    command === undefined ? renderOverview(page) : renderCommandHelp(COMMANDS[command], command, page);
  return `${sections.join("\n\n")}\n`;
}

function renderOverview(page: Page): string[] {
  const commands = COMMAND_NAMES.map((name): Row => {
    const { usage, summary }: CommandInfo = COMMANDS[name];
    return [`${name} ${usage}`, summary];
  });
  const examples = COMMAND_NAMES.map((name): Row => COMMANDS[name].examples[0]);
  return [
    `${page.colors.bold(PROGRAM)} <command>\n${wrapParagraph(ABOUT, page)}`,
    renderSection("Commands", commands, page),
    renderSection("Server options", toOptionRows(SERVER_OPTIONS), page),
    wrapParagraph(`Default: ${PROJECT_FILES.join(", ")} in this folder.`, page),
    renderSection("Common options", toOptionRows(COMMON_OPTIONS), page),
    renderSection("Examples", toExampleRows(examples), page),
    renderSection(
      "Exit codes",
      Object.values(EXIT_CODES).map(([code, text]): Row => [String(code), text.replaceAll("`", "")]),
      page,
    ),
    wrapParagraph(`Run ${PROGRAM} <command> --help for help on a command.`, page),
  ];
}

function renderCommandHelp(
  { usage, summary, options, examples }: CommandInfo,
  name: string,
  page: Page,
): string[] {
  return [
    `${page.colors.bold(wrapParagraph(`${PROGRAM} ${name} ${usage}`, page))}\n${wrapParagraph(`${capitalize(summary)}.`, page)}`,
    ...(options.length === 0 ? [] : [renderSection("Options", toOptionRows(options), page)]),
    renderSection("Server options", toOptionRows(SERVER_OPTIONS), page),
    renderSection("Common options", toOptionRows(COMMON_OPTIONS), page),
    renderSection("Examples", toExampleRows(examples), page),
  ];
}

function toOptionRows(names: readonly OptionName[]): Row[] {
  const rows = names.map((name): Row => {
    const { short, value, text }: OptionInfo = OPTIONS[name];
    const flags = `${short === undefined ? "    " : `-${short}, `}--${name}`;
    return [value === undefined ? flags : `${flags} ${value}`, text];
  });
  return names.some((name) => name === "url")
    ? [...rows, ["    -- <command> …", "use the server started by this command"]]
    : rows;
}

function toExampleRows(examples: readonly Row[]): Row[] {
  return examples.map(([line, explanation]): Row => [`${PROGRAM} ${line}`, explanation]);
}

function renderSection(title: string, rows: readonly Row[], page: Page): string {
  return [page.colors.bold(title), ...renderRows(rows, page)].join("\n");
}

/** Renders two columns if they fit, else the right text below the left one. */
function renderRows(rows: readonly Row[], { columns, colors }: Page): string[] {
  const width = Math.min(columns, MAX_WIDTH);
  const leftWidth = Math.max(...rows.map(([left]) => textWidth(left)));
  if (leftWidth + 4 > width / 2)
    return rows.flatMap(([left, right]) => [
      ...indent(left, 2, columns),
      ...indent(right, 6, columns).map(colors.dim),
    ]);
  return rows.flatMap(([left, right]) =>
    wrapToWidth(right, width - leftWidth - 4).map(
      (line, index) => `  ${padToWidth(index === 0 ? left : "", leftWidth)}  ${line}`,
    ),
  );
}

function indent(text: string, by: number, columns: number): string[] {
  return wrapToWidth(text, columns - by).map((line) => " ".repeat(by) + line);
}

function wrapParagraph(text: string, { columns }: Page): string {
  return wrapToWidth(text, Math.min(columns, MAX_WIDTH)).join("\n");
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
