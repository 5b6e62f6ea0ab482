import { PROJECT_FILES } from "../config/files/config-locations.js";
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  type CommandInfo,
  COMMON_OPTIONS,
  OPTIONS,
  type OptionName,
  SERVER_OPTIONS,
} from "./command-line.js";
import { EXIT_CODES } from "./exit-codes.js";
import type { Page } from "./terminal.js";
import { padToWidth, textWidth, wrapIndented, wrapToWidth } from "./text-format.js";

const PROGRAM = "npx langchain-mcp-runtime";
const ABOUT = "List, call, diagnose, snapshot and publish MCP servers.";
const MAX_WIDTH = 100;

type Row = readonly [left: string, right: string];

/** Returns the lines of the overview, or the help of one command. */
export function renderHelp(command: CommandName | undefined, page: Page): string[] {
  const sections =
    command === undefined ? renderOverview(page) : renderCommandHelp(COMMANDS[command], command, page);
  return sections.join("\n\n").split("\n");
}

function renderOverview(page: Page): string[] {
  const commands = COMMAND_NAMES.map((name): Row => {
    const { usage, summary } = COMMANDS[name];
    return [`${name} ${usage}`, summary];
  });
  const examples = COMMAND_NAMES.flatMap((name) => COMMANDS[name].examples.slice(0, 1));
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
  { usage, summary, options, hasNoServers = false, examples }: CommandInfo,
  name: string,
  page: Page,
): string[] {
  return [
    [
      ...wrapLines(`${PROGRAM} ${name} ${usage}`, page).map(page.colors.bold),
      ...wrapLines(`${capitalize(summary)}.`, page),
    ].join("\n"),
    ...(options.length === 0 ? [] : [renderSection("Options", toOptionRows(options), page)]),
    ...(hasNoServers ? [] : [renderSection("Server options", toOptionRows(SERVER_OPTIONS), page)]),
    renderSection("Common options", toOptionRows(COMMON_OPTIONS), page),
    renderSection("Examples", toExampleRows(examples), page),
  ];
}

function toOptionRows(names: readonly OptionName[]): Row[] {
  const rows = names.map((name): Row => {
    const { short, value, text } = OPTIONS[name];
    const flags = `${short === undefined ? "    " : `-${short}, `}--${name}`;
    return [value === undefined ? flags : `${flags} ${value}`, text];
  });
  return names.includes("url")
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
      ...wrapIndented(left, columns, 2),
      ...wrapIndented(right, columns, 6).map(colors.dim),
    ]);
  return rows.flatMap(([left, right]) =>
    wrapIndented(right, width, leftWidth + 4, `  ${padToWidth(left, leftWidth)}  `),
  );
}

function wrapParagraph(text: string, page: Page): string {
  return wrapLines(text, page).join("\n");
}

function wrapLines(text: string, { columns }: Page): string[] {
  return wrapToWidth(text, Math.min(columns, MAX_WIDTH));
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
