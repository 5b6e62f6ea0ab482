import { parseArgs } from "node:util";
import { findClosestMatch } from "./did-you-mean.js";
import {
  COMMAND_NAMES,
  COMMANDS,
  type CommandName,
  COMMON_OPTIONS,
  OPTIONS,
  type OptionName,
  type OptionInfo,
  SERVER_OPTIONS,
} from "./commands.js";
import { UsageError } from "./exit-codes.js";

/** A parsed command line. */
export interface CommandLine {
  /** Undefined if only help or the version is requested. */
  readonly command: CommandName | undefined;
  readonly positionals: readonly string[];
  /** The arguments after `--`: the command that starts a server. */
  readonly program: readonly string[];
  readonly flags: ReadonlySet<OptionName>;
  /** The values of an option in order. */
  values(option: OptionName): readonly string[];
  value(option: OptionName): string | undefined;
}

const HELP_HINT = "See --help.";

/** Throws a `UsageError`, with a suggestion if a name is mistyped. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const separator = args.indexOf("--");
  const ownArgs = separator === -1 ? args : args.slice(0, separator);
  const program = separator === -1 ? [] : args.slice(separator + 1);
  if (separator !== -1 && program.length === 0)
    throw new UsageError("Missing command after --.", "Write the command that starts the server after --.");
  const [commandName, ...positionals] = getPositionals(ownArgs);
  const options = getOptions(ownArgs);
  const command = commandName === undefined ? undefined : toCommand(commandName);
  for (const { name } of options) assertOptionAllowed(name, command);
  const values = (option: OptionName) =>
    options.flatMap(({ name, value }) => (name === option && value !== undefined ? [value] : []));
  return {
    command,
    positionals,
    program,
    flags: new Set(options.map(({ name }) => name)),
    values,
    value: (option) => values(option).at(-1),
  };
}

interface ParsedOption {
  readonly name: OptionName;
  readonly value: string | undefined;
}

function tokenize(args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries<OptionInfo>(OPTIONS).map(([name, { short, value }]) => [
      name,
      {
        type: value === undefined ? "boolean" : "string",
        ...(short === undefined ? {} : { short }),
      } as const,
    ]),
  );
  // Not strict: the error messages of strict mode suggest "--", which has another meaning here.
  const parsed = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  return parsed.tokens;
}

function getPositionals(args: readonly string[]): string[] {
  return tokenize(args).flatMap((token) => (token.kind === "positional" ? [token.value] : []));
}

function getOptions(args: readonly string[]): ParsedOption[] {
  const options = tokenize(args).flatMap((token) => (token.kind === "option" ? [toOption(token)] : []));
  for (const { name, value } of options) {
    const isRepeated = options.filter((option) => option.name === name).length > 1;
    const { multiple = false }: OptionInfo = OPTIONS[name];
    if (isRepeated && value !== undefined && !multiple)
      throw new UsageError(`--${name} was given twice.`, "Use it once.");
  }
  return options;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function toOption({ name, rawName, value, inlineValue }: OptionToken): ParsedOption {
  if (!Object.hasOwn(OPTIONS, name)) throw unknownOptionError(rawName, name);
  const { value: placeholder }: OptionInfo = OPTIONS[name as OptionName];
  if (placeholder === undefined && value !== undefined)
    throw new UsageError(`${rawName} takes no value.`, `Use ${rawName} without a value.`);
  const isMissing = value === undefined || (inlineValue !== true && /^-./.test(value));
  if (placeholder !== undefined && isMissing)
    throw new UsageError(`${rawName} needs a value.`, `Usage: ${rawName} ${placeholder}.`);
  return { name: name as OptionName, value };
}

function unknownOptionError(rawName: string, name: string): UsageError {
  const closest = findClosestMatch(name, Object.keys(OPTIONS));
  const hint = closest === undefined ? HELP_HINT : `Did you mean --${closest}?`;
  return new UsageError(`Unknown option ${rawName}.`, hint);
}

function toCommand(input: string): CommandName {
  const command = COMMAND_NAMES.find((name) => name === input);
  if (command !== undefined) return command;
  const closest = findClosestMatch(input, COMMAND_NAMES);
  const hint = closest === undefined ? `Commands: ${COMMAND_NAMES.join(", ")}.` : `Did you mean ${closest}?`;
  throw new UsageError(`Unknown command "${input}".`, hint);
}

function assertOptionAllowed(name: OptionName, command: CommandName | undefined): void {
  if (COMMON_OPTIONS.some((common) => common === name)) return;
  if (command === undefined)
    throw new UsageError("Missing command.", `Commands: ${COMMAND_NAMES.join(", ")}.`);
  const commandOptions: readonly OptionName[] = COMMANDS[command].options;
  if (commandOptions.includes(name) || SERVER_OPTIONS.some((option) => option === name)) return;
  const owners = COMMAND_NAMES.filter((candidate) =>
    (COMMANDS[candidate].options as readonly OptionName[]).includes(name),
  );
  throw new UsageError(`${command} has no option --${name}.`, `It is an option of ${owners.join(" and ")}.`);
}
