import type { OptionName } from "./options.js";

export interface CommandSpec {
  /** What stands behind its name. */
  readonly usage: string;
  readonly summary: string;
  /** Options of its own. */
  readonly options: readonly OptionName[];
  /** What to type, and what that does. */
  readonly examples: readonly (readonly [line: string, what: string])[];
}

export const COMMANDS = {
  list: {
    usage: "[server …]",
    summary: "what servers offer",
    options: [],
    examples: [
      ["list", "the servers of this folder's config files"],
      ["list weather --json", "one of them, for a program"],
      ["list --url http://localhost:3000/mcp", "a server at an address"],
      ["list -- npx -y @modelcontextprotocol/server-everything", "a server that a command starts"],
    ],
  },
  call: {
    usage: "<server> <tool> [name=value …]",
    summary: "call a tool",
    options: ["args", "output"],
    examples: [
      [`call weather forecast --args '{"city":"Oslo"}'`, "arguments as JSON"],
      ["call weather forecast city=Oslo days=3", "the same, quicker to type"],
      ["call weather forecast --args @oslo.json", "from a file (-: from stdin)"],
      ["call weather map city=Oslo -o map.png", "an image, saved"],
      ["call --url http://localhost:3000/mcp forecast city=Oslo", "of a server at an address"],
    ],
  },
  doctor: {
    usage: "[server …]",
    summary: "what is wrong, and what to do about it",
    options: ["recovery"],
    examples: [
      ["doctor", "config files, connections, logins, tools"],
      ["doctor weather --recovery", "also: does it survive a lost session? (lists, calls nothing)"],
      ["doctor --url https://weather.example.com/mcp", "a server at an address"],
    ],
  },
  drift: {
    usage: "[agent.json]",
    summary: "what has changed since a snapshot",
    options: ["store"],
    examples: [
      ["drift agent.json", "the tools that were saved, against the servers; exit code 3 if they differ"],
      ["drift --store .cache/mcp", "the lists that a program keeps in a file store"],
    ],
  },
  snapshot: {
    usage: "[server …]",
    summary: "an agent definition from live servers",
    options: ["output", "force"],
    examples: [
      ["snapshot -o agent.json", "for createMcpToolsFromAgent"],
      ["snapshot weather > agent.json", "of one server"],
    ],
  },
} as const satisfies Record<string, CommandSpec>;

export type CommandName = keyof typeof COMMANDS;

export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];
