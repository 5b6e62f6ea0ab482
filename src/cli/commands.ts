/** A command-line option. */
export interface OptionInfo {
  readonly short?: string;
  /** Placeholder of its value; an option without one is a flag. */
  readonly value?: string;
  readonly multiple?: boolean;
  readonly text: string;
}

/** All options of all commands. */
export const OPTIONS = {
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
  name: { value: "<name>", text: "name of the server given by --url or --" },
  input: {
    value: "<id>=<value>",
    multiple: true,
    text: "value for ${input:id} in a VS Code file",
  },
  yes: { short: "y", text: "start commands of project files and pass variables without asking" },
  timeout: { value: "<seconds>", text: "time limit for connecting and for each request" },
  args: { short: "a", value: "<json>", text: "arguments as JSON, @file, or - for stdin" },
  output: { short: "o", value: "<file>", text: "write the output to this file" },
  force: { text: "overwrite an existing file" },
  recovery: { text: "also check recovery from a lost session" },
  store: { value: "<folder>", text: "compare with the tool lists in this file store" },
  json: { text: "print one JSON document to stdout" },
  help: { short: "h", text: "print help" },
  version: { short: "v", text: "print the version" },
} as const satisfies Record<string, OptionInfo>;

export type OptionName = keyof typeof OPTIONS;

/** Options that select servers. */
export const SERVER_OPTIONS = ["config", "user", "input", "url", "header", "name", "yes", "timeout"] as const;
/** Options of every command. */
export const COMMON_OPTIONS = ["json", "help", "version"] as const;

export interface CommandInfo {
  /** Arguments after the command name. */
  readonly usage: string;
  readonly summary: string;
  /** Options of this command, in addition to the server and common options. */
  readonly options: readonly OptionName[];
  /** Command lines with an explanation. */
  readonly examples: readonly (readonly [line: string, explanation: string])[];
}

export const COMMANDS = {
  list: {
    usage: "[server …]",
    summary: "list servers and their tools",
    options: [],
    examples: [
      ["list", "servers of the config files in this folder"],
      ["list weather --json", "one server, as JSON"],
      ["list --url http://localhost:3000/mcp", "a server by URL"],
      ["list -- npx -y @modelcontextprotocol/server-everything", "a server started by a command"],
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
} as const satisfies Record<string, CommandInfo>;

export type CommandName = keyof typeof COMMANDS;

export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];
