import { parseArgs } from "node:util";
import { closestWord } from "./did-you-mean.js";
import { COMMAND_NAMES, COMMANDS, type CommandName } from "./commands.js";
import { COMMON_OPTIONS, OPTIONS, type OptionName, type OptionSpec, SERVER_OPTIONS } from "./options.js";
import { UsageError } from "./usage-error.js";

/** What somebody typed, sorted. */
export interface CommandLine {
  /** None, when only help or the version is wanted. */
  readonly command: CommandName | undefined;
  readonly words: readonly string[];
  /** What stands behind `--`: a command that starts a server. */
  readonly program: readonly string[];
  readonly flags: ReadonlySet<OptionName>;
  /** The values of an option, in the order they were given. */
  values(option: OptionName): readonly string[];
  value(option: OptionName): string | undefined;
}

const HELP = "See --help.";

/** Throws a `UsageError` that says what was meant, if that can be guessed. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  const program = end === -1 ? [] : args.slice(end + 1);
  if (end !== -1 && program.length === 0)
    throw new UsageError("Nothing stands behind --.", "Write the command that starts the server there.");
  const [first, ...words] = wordsOf(own);
  const given = optionsOf(own);
  const command = first === undefined ? undefined : toCommand(first);
  for (const { name } of given) checkOption(name, command);
  const values = (option: OptionName) =>
    given.flatMap(({ name, value }) => (name === option && value !== undefined ? [value] : []));
  return {
    command,
    words,
    program,
    flags: new Set(given.map(({ name }) => name)),
    values,
    value: (option) => values(option).at(-1),
  };
}

interface GivenOption {
  readonly name: OptionName;
  readonly value: string | undefined;
}

function tokensOf(args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries<OptionSpec>(OPTIONS).map(([name, { short, value }]) => [
      name,
      {
        type: value === undefined ? "boolean" : "string",
        ...(short === undefined ? {} : { short }),
      } as const,
    ]),
  );
  // Not strict: its errors speak of "--" as if what stands there were text.
  const parsed = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  return parsed.tokens;
}

function wordsOf(args: readonly string[]): string[] {
  return tokensOf(args).flatMap((token) => (token.kind === "positional" ? [token.value] : []));
}

function optionsOf(args: readonly string[]): GivenOption[] {
  const given = tokensOf(args).flatMap((token) => (token.kind === "option" ? [toOption(token)] : []));
  for (const { name, value } of given) {
    const isTwice = given.filter((other) => other.name === name).length > 1;
    const { multiple = false }: OptionSpec = OPTIONS[name];
    if (isTwice && value !== undefined && !multiple)
      throw new UsageError(`--${name} was given twice.`, "Give it once.");
  }
  return given;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function toOption({ name, rawName, value, inlineValue }: OptionToken): GivenOption {
  if (!Object.hasOwn(OPTIONS, name)) throw unknownOption(rawName, name);
  const { value: placeholder }: OptionSpec = OPTIONS[name as OptionName];
  if (placeholder === undefined && value !== undefined)
    throw new UsageError(`${rawName} takes no value.`, `Write ${rawName} alone.`);
  const isMissing = value === undefined || (inlineValue !== true && /^-./.test(value));
  if (placeholder !== undefined && isMissing)
    throw new UsageError(`${rawName} needs a value.`, `Write ${rawName} ${placeholder}.`);
  return { name: name as OptionName, value };
}

function unknownOption(rawName: string, name: string): UsageError {
  const meant = closestWord(name, Object.keys(OPTIONS));
  const next = meant === undefined ? HELP : `Did you mean --${meant}?`;
  return new UsageError(`There is no option ${rawName}.`, next);
}

function toCommand(word: string): CommandName {
  const command = COMMAND_NAMES.find((name) => name === word);
  if (command !== undefined) return command;
  const meant = closestWord(word, COMMAND_NAMES);
  const next = meant === undefined ? `Commands are ${COMMAND_NAMES.join(", ")}.` : `Did you mean ${meant}?`;
  throw new UsageError(`There is no command "${word}".`, next);
}

function checkOption(name: OptionName, command: CommandName | undefined): void {
  if (COMMON_OPTIONS.some((common) => common === name)) return;
  if (command === undefined)
    throw new UsageError("No command was given.", `Commands are ${COMMAND_NAMES.join(", ")}.`);
  const own: readonly OptionName[] = COMMANDS[command].options;
  if (own.includes(name) || SERVER_OPTIONS.some((option) => option === name)) return;
  const owners = COMMAND_NAMES.filter((other) =>
    (COMMANDS[other].options as readonly OptionName[]).includes(name),
  );
  throw new UsageError(`${command} has no option --${name}.`, `It is one of ${owners.join(" and ")}.`);
}
