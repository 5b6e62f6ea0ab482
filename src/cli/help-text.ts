import { PROJECT_FILES } from "../config/files/config-locations.js";
import { COMMAND_NAMES, COMMANDS, type CommandName, type CommandSpec } from "./commands.js";
import { EXIT_CODES } from "./exit-codes.js";
import { COMMON_OPTIONS, OPTIONS, type OptionName, type OptionSpec, SERVER_OPTIONS } from "./options.js";
import { padToWidth, widthOf, wrapToWidth } from "./terminal/text-width.js";
import type { Paint } from "./terminal/colors.js";

const PROGRAM = "npx langchain-mcp-runtime";
const ABOUT = "MCP servers on the command line: see, call, check and save what they offer.";
const WIDEST = 100;

interface Page {
  readonly paint: Paint;
  readonly columns: number;
}

type Row = readonly [left: string, right: string];

/** What there is, or what one command does. */
export function helpText(command: CommandName | undefined, page: Page): string {
  const sections = command === undefined ? overview(page) : helpOf(COMMANDS[command], command, page);
  return `${sections.join("\n\n")}\n`;
}

function overview(page: Page): string[] {
  const commands = COMMAND_NAMES.map((name): Row => {
    const { usage, summary }: CommandSpec = COMMANDS[name];
    return [`${name} ${usage}`, summary];
  });
  const examples = COMMAND_NAMES.map((name): Row => COMMANDS[name].examples[0]);
  return [
    `${page.paint.strong(PROGRAM)} <command>\n${paragraph(ABOUT, page)}`,
    section("Commands", commands, page),
    section("Where servers come from", optionRows(SERVER_OPTIONS), page),
    paragraph(`Without any of these: ${PROJECT_FILES.join(", ")} of this folder.`, page),
    section("With every command", optionRows(COMMON_OPTIONS), page),
    section("Examples", exampleRows(examples), page),
    section(
      "Exit codes",
      Object.values(EXIT_CODES).map(([code, text]): Row => [String(code), text.replaceAll("`", "")]),
      page,
    ),
    paragraph(`${PROGRAM} <command> --help tells more of one.`, page),
  ];
}

function helpOf({ usage, summary, options, examples }: CommandSpec, name: string, page: Page): string[] {
  return [
    `${page.paint.strong(paragraph(`${PROGRAM} ${name} ${usage}`, page))}\n${capital(summary)}.`,
    ...(options.length === 0 ? [] : [section("Options", optionRows(options), page)]),
    section("Where servers come from", optionRows(SERVER_OPTIONS), page),
    section("With every command", optionRows(COMMON_OPTIONS), page),
    section("Examples", exampleRows(examples), page),
  ];
}

function optionRows(names: readonly OptionName[]): Row[] {
  const rows = names.map((name): Row => {
    const { short, value, text }: OptionSpec = OPTIONS[name];
    const both = `${short === undefined ? "    " : `-${short}, `}--${name}`;
    return [value === undefined ? both : `${both} ${value}`, text];
  });
  return names.some((name) => name === "url")
    ? [...rows, ["    -- <command> …", "a server that this command starts"]]
    : rows;
}

function exampleRows(examples: readonly Row[]): Row[] {
  return examples.map(([line, what]): Row => [`${PROGRAM} ${line}`, what]);
}

function section(title: string, rows: readonly Row[], page: Page): string {
  return [page.paint.strong(title), ...lines(rows, page)].join("\n");
}

/** Beside each other where there is room, else below. */
function lines(rows: readonly Row[], { columns, paint }: Page): string[] {
  const room = Math.min(columns, WIDEST);
  const left = Math.max(...rows.map(([text]) => widthOf(text)));
  if (left + 4 > room / 2)
    return rows.flatMap(([text, what]) => [
      ...indented(text, 2, columns),
      ...indented(what, 6, columns).map(paint.quiet),
    ]);
  return rows.flatMap(([text, what]) =>
    wrapToWidth(what, room - left - 4).map(
      (line, index) => `  ${padToWidth(index === 0 ? text : "", left)}  ${line}`,
    ),
  );
}

function indented(text: string, by: number, columns: number): string[] {
  return wrapToWidth(text, columns - by).map((line) => " ".repeat(by) + line);
}

function paragraph(text: string, { columns }: Page): string {
  return wrapToWidth(text, Math.min(columns, WIDEST)).join("\n");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
