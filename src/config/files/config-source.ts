import type { ConfigDocument } from "./parse-document.js";
import type { ConfigFormatName } from "./config-formats.js";

/**
 * Where a file comes from, which decides how far it is trusted.
 * - `given`: passed explicitly in `files`
 * - `project`: found in the project folder, and written by anyone with access to it
 * - `user`: found in the home folder of the user
 */
export type ConfigScope = "given" | "project" | "user";

/**
 * The state of a server in a file.
 * - `loaded`: one of `servers`
 * - `shadowed`: its name or its endpoint is already defined in a file with precedence
 * - `disabled`: disabled in a file, or by `enabledServers` and `disabledServers`
 * - `filtered`: rejected by `filter`
 * - `broken`: invalid; see `problems`
 */
export type ConfigServerState = "loaded" | "shadowed" | "disabled" | "filtered" | "broken";

/** A server in a config file. */
export interface ConfigServer {
  readonly name: string;
  readonly state: ConfigServerState;
  /** Why it was not loaded, for people. */
  readonly reason?: string;
  /** The environment variables that it uses, and inputs as `input:id`. */
  readonly variables: readonly string[];
  /** Its keys that have no effect. */
  readonly ignored: readonly string[];
}

/** A config file and its servers. */
export interface ConfigSource {
  readonly file: string;
  readonly scope: ConfigScope;
  readonly format: ConfigFormatName;
  readonly servers: readonly ConfigServer[];
}

/** A parsed file whose servers have not been read yet. */
export interface ConfigFile extends Omit<ConfigSource, "servers"> {
  /** The folder of the project that it belongs to. */
  readonly folder: string;
  readonly text: string;
  readonly document: ConfigDocument;
}

/**
 * The kind of a problem with a config file or a server in it.
 * - `missing-file`: an explicitly passed file does not exist
 * - `unreadable`: not a regular file, not readable, or too large
 * - `broken-json`: not valid JSON, even with comments and trailing commas allowed
 * - `unknown-format`: JSON without servers
 * - `unset-variable`: a server needs a variable or an input that has no value
 * - `bad-definition`: a server is invalid
 * - `unknown-server`: no file defines a server that `enabledServers` lists
 */
export type ConfigProblemKind =
  | "missing-file"
  | "unreadable"
  | "broken-json"
  | "unknown-format"
  | "unset-variable"
  | "bad-definition"
  | "unknown-server";

/** A problem with one file or one server. Contains no values of the file, which may be secret. */
export interface ConfigProblem {
  readonly kind: ConfigProblemKind;
  /** What is wrong and how to fix it. */
  readonly message: string;
  /** The file; missing for `unknown-server`. */
  readonly file?: string;
  readonly server?: string;
  /** The line, starting at 1. */
  readonly line?: number;
  /** The column, starting at 1. */
  readonly column?: number;
  /** The path in the document: `mcpServers.github.headers`. */
  readonly path?: string;
}
