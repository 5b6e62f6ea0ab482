/** An option as people write it. */
export interface OptionSpec {
  readonly short?: string;
  /** What stands behind it; an option without is a switch. */
  readonly value?: string;
  readonly multiple?: boolean;
  readonly text: string;
}

/** Every option of every command. */
export const OPTIONS = {
  config: {
    short: "c",
    value: "<file>",
    multiple: true,
    text: "servers of this file, instead of those of the folder",
  },
  user: { text: "also the servers of your own files (~/.claude.json and others)" },
  url: { value: "<address>", text: "a server at this address" },
  header: {
    short: "H",
    value: '"Name: value"',
    multiple: true,
    text: "a header for --url, such as a token",
  },
  name: { value: "<name>", text: "what to call the server of --url or --" },
  input: {
    value: "<id>=<value>",
    multiple: true,
    text: "an answer for ${input:id} in a file of VS Code",
  },
  yes: { short: "y", text: "start commands of project files, and send them variables, without asking" },
  timeout: { value: "<seconds>", text: "how long a server may take to connect and to answer" },
  args: { short: "a", value: "<json>", text: "the arguments: JSON, @file, or - for stdin" },
  output: { short: "o", value: "<file>", text: "write to this file" },
  force: { text: "write over a file that is there" },
  recovery: { text: "also try whether sessions come back after they were lost" },
  store: { value: "<folder>", text: "compare with the lists in this file store" },
  json: { text: "one JSON document on stdout, and nothing else" },
  help: { short: "h", text: "this text" },
  version: { short: "v", text: "the version" },
} as const satisfies Record<string, OptionSpec>;

export type OptionName = keyof typeof OPTIONS;

/** Where servers come from. */
export const SERVER_OPTIONS = ["config", "user", "input", "url", "header", "name", "yes", "timeout"] as const;
/** What every command takes. */
export const COMMON_OPTIONS = ["json", "help", "version"] as const;
