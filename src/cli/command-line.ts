import { parseArgs } from "node:util";
import { findClosestMatch } from "../errors/find-closest-match.js";
import { suggestName, UsageError } from "./exit-codes.js";

/** A command-line option. */
interface OptionInfo {
  readonly short?: string;
  /** Placeholder of its value; an option without one is a flag. */
  readonly value?: string;
  readonly multiple?: boolean;
  readonly text: string;
}

const OPTION_TABLE = {
  config: {
    short: "c",
    value: "<file>",
    multiple: true,
    text: "use the servers of this file instead of the files in this folder",
  },
  user: { text: "also use the servers of your user files (~/.claude.json and others)" },
  url: { value: "<url>", text: "use the server at this URL" },
  header: {
    short: "H",
    value: '"Name: value"',
    multiple: true,
    text: "add a header to --url, such as a token",
  },
  env: {
    short: "e",
    value: "NAME[=value]",
    multiple: true,
    text: "set a variable for the command after --; without a value, the one of your environment",
  },
  name: { value: "<name>", text: "name of the server given by --url or --" },
  input: {
    value: "<id>=<value>",
    multiple: true,
    text: "value for ${input:id} in a VS Code file",
  },
  yes: {
    short: "y",
    text: "start commands of project files and pass variables and credentials without asking",
  },
  timeout: { value: "<seconds>", text: "time limit for connecting and for each request" },
  args: { short: "a", value: "<json>", text: "arguments as JSON, @file, or - for stdin" },
  output: { short: "o", value: "<file>", text: "write the output to this file" },
  force: { text: "overwrite an existing file" },
  recovery: { text: "also check recovery from a lost session" },
  store: {
    value: "<store>",
    text: "drift: a folder with stored tool lists; publish, withdraw: redis://…, dynamodb:<table> or a folder",
  },
  json: { text: "print one JSON document to stdout" },
  help: { short: "h", text: "print help" },
  version: { short: "v", text: "print the version" },
} satisfies Record<string, OptionInfo>;

export type OptionName = keyof typeof OPTION_TABLE;

/** All options of all commands. */
export const OPTIONS: Readonly<Record<OptionName, OptionInfo>> = OPTION_TABLE;
/** Options that select servers. */
export const SERVER_OPTIONS: readonly OptionName[] = [
  "config",
  "user",
  "input",
  "url",
  "header",
  "env",
  "name",
  "yes",
  "timeout",
];
/** Options of every command. */
export const COMMON_OPTIONS: readonly OptionName[] = ["json", "help", "version"];

export interface CommandInfo {
  /** Arguments after the command name. */
  readonly usage: string;
  readonly summary: string;
  /** Options of this command, in addition to the server and common options. */
  readonly options: readonly OptionName[];
  /** Whether the server options do not apply. */
  readonly hasNoServers?: boolean;
  /** Command lines with an explanation. */
  readonly examples: readonly (readonly [line: string, explanation: string])[];
}

const COMMAND_TABLE = {
  list: {
    usage: "[server …]",
    summary: "list servers and their tools",
    options: [],
    examples: [
      ["list", "servers of the config files in this folder"],
      ["list weather --json", "one server, as JSON"],
      ["list --url http://localhost:3000/mcp", "a server by URL"],
      ["list -- npx -y @modelcontextprotocol/server-everything", "a server started by a command"],
      ["list --env API_KEY --env REGION=eu -- npx -y weather-mcp", "the same, with variables"],
    ],
  },
  describe: {
    usage: "<server> <tool or skill>",
    summary: "show everything about a tool or a skill",
    options: [],
    examples: [
      ["describe weather forecast", "description, schema of the server, schema for models, tokens"],
      ["describe docs refunds", "a skill: description, frontmatter, files"],
      ["describe forecast --url http://localhost:3000/mcp", "a tool of a server by URL"],
    ],
  },
  call: {
    usage: "<server> <tool> [name=value …]",
    summary: "call a tool",
    options: ["args", "output"],
    examples: [
      [`call weather forecast --args '{"city":"Oslo"}'`, "arguments as JSON"],
      ["call weather forecast city=Oslo days=3", "the same as name=value pairs"],
      ["call weather forecast --args @oslo.json", "arguments from a file (-: from stdin)"],
      ["call weather map city=Oslo -o map.png", "save an image"],
      ["call --url http://localhost:3000/mcp forecast city=Oslo", "a tool of a server by URL"],
    ],
  },
  doctor: {
    usage: "[server …]",
    summary: "find problems and how to fix them",
    options: ["recovery"],
    examples: [
      ["doctor", "check config files, connections, logins and tools"],
      ["doctor weather --recovery", "also check recovery from a lost session (lists tools, calls none)"],
      ["doctor --url https://weather.example.com/mcp", "a server by URL"],
    ],
  },
  drift: {
    usage: "[agent.json]",
    summary: "compare tools with a snapshot",
    options: ["store"],
    examples: [
      ["drift agent.json", "compare saved tools with the servers; exit code 3 if they differ"],
      ["drift --store .cache/mcp", "compare with the tool lists of a file store"],
    ],
  },
  snapshot: {
    usage: "[server …]",
    summary: "create an agent definition from live servers",
    options: ["output", "force"],
    examples: [
      ["snapshot -o agent.json", "save an agent definition for createMcpToolsFromAgent"],
      ["snapshot weather > agent.json", "one server, to stdout"],
    ],
  },
  publish: {
    usage: "<name> <url>",
    summary: "add a server to a registry",
    options: ["store"],
    hasNoServers: true,
    examples: [
      ["publish weather https://tools.example.com/mcp --store redis://localhost", "for registryServers()"],
      [
        "publish reports arn:aws:lambda:eu-west-1:123456789012:function:mcp --store dynamodb:mcp",
        "a Lambda function",
      ],
    ],
  },
  withdraw: {
    usage: "<name>",
    summary: "remove a server from a registry",
    options: ["store"],
    hasNoServers: true,
    examples: [
      ["withdraw weather --store redis://localhost", "programs that use the registry lose its tools"],
    ],
  },
} satisfies Record<string, CommandInfo>;

export type CommandName = keyof typeof COMMAND_TABLE;

export const COMMANDS: Readonly<Record<CommandName, CommandInfo>> = COMMAND_TABLE;

export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];

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

const COMMANDS_HINT = `Commands: ${COMMAND_NAMES.join(", ")}.`;

/** The options in the form of `parseArgs`. */
const PARSE_OPTIONS = Object.fromEntries(
  Object.entries(OPTIONS).map(([name, { short, value }]) => [
    name,
    { type: value === undefined ? "boolean" : "string", ...(short === undefined ? {} : { short }) } as const,
  ]),
);

/** Throws a `UsageError`, with a suggestion if a name is mistyped. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const separator = args.indexOf("--");
  const ownArgs = separator === -1 ? [...args] : args.slice(0, separator);
  const program = separator === -1 ? [] : args.slice(separator + 1);
  if (separator !== -1 && program.length === 0)
    throw new UsageError("Missing command after --.", "Write the command that starts the server after --.");
  // Not strict: the error messages of strict mode suggest "--", which has another meaning here.
  const { tokens } = parseArgs({
    args: ownArgs,
    options: PARSE_OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const [commandName, ...positionals] = tokens.flatMap((token) =>
    token.kind === "positional" ? [token.value] : [],
  );
  const options = tokens.flatMap((token) => (token.kind === "option" ? [toOption(token)] : []));
  const values = (option: OptionName) =>
    options.flatMap(({ name, value }) => (name === option && value !== undefined ? [value] : []));
  for (const { name } of options)
    if (values(name).length > 1 && OPTIONS[name].multiple !== true)
      throw new UsageError(`--${name} was given twice.`, "Use it once.");
  const command = commandName === undefined ? undefined : toCommand(commandName);
  for (const { name } of options) assertOptionAllowed(name, command);
  return {
    command,
    positionals,
    program,
    flags: new Set(options.map(({ name }) => name)),
    values,
    value: (option) => values(option).at(-1),
  };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function toOption({ name, rawName, value, inlineValue }: OptionToken) {
  if (!isOptionName(name)) {
    const closest = findClosestMatch(name, Object.keys(OPTIONS));
    const hint = closest === undefined ? "See --help." : `Did you mean --${closest}?`;
    throw new UsageError(`Unknown option ${rawName}.`, hint);
  }
  const { value: placeholder } = OPTIONS[name];
  if (placeholder === undefined && value !== undefined)
    throw new UsageError(`${rawName} takes no value.`, `Use ${rawName} without a value.`);
  const isMissing = value === undefined || (inlineValue !== true && /^-./.test(value));
  if (placeholder !== undefined && isMissing)
    throw new UsageError(`${rawName} needs a value.`, `Usage: ${rawName} ${placeholder}.`);
  return { name, value };
}

function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

function toCommand(input: string): CommandName {
  const command = COMMAND_NAMES.find((name) => name === input);
  if (command !== undefined) return command;
  throw new UsageError(`Unknown command "${input}".`, suggestName(input, COMMAND_NAMES, COMMANDS_HINT));
}

const NAMES = new Intl.ListFormat("en");

function assertOptionAllowed(name: OptionName, command: CommandName | undefined): void {
  if (COMMON_OPTIONS.includes(name)) return;
  if (command === undefined) throw new UsageError("Missing command.", COMMANDS_HINT);
  const { options, hasNoServers = false } = COMMANDS[command];
  if (options.includes(name) || (!hasNoServers && SERVER_OPTIONS.includes(name))) return;
  const owners = COMMAND_NAMES.filter(
    (candidate) =>
      COMMANDS[candidate].options.includes(name) ||
      (SERVER_OPTIONS.includes(name) && COMMANDS[candidate].hasNoServers !== true),
  );
  throw new UsageError(`${command} has no option --${name}.`, `It is an option of ${NAMES.format(owners)}.`);
}
