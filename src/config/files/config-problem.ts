/**
 * What is wrong with a file, or with a server in it.
 * - `missing-file`: a file that was given is not there
 * - `unreadable`: it is no file, may not be read, or is too large
 * - `broken-json`: it is no JSON, not even with comments and trailing commas
 * - `unknown-format`: it is JSON, and no list of servers
 * - `unset-variable`: a server needs a variable or an input that has no value
 * - `bad-definition`: a server cannot be used as it is written
 * - `unknown-server`: no file has a server that `enabledServers` names
 */
export type ConfigProblemKind =
  | "missing-file"
  | "unreadable"
  | "broken-json"
  | "unknown-format"
  | "unset-variable"
  | "bad-definition"
  | "unknown-server";

/** It costs one file or one server, and never another. Values of the file are not in it. */
export interface ConfigProblem {
  readonly kind: ConfigProblemKind;
  /** What is wrong, and what to do about it. */
  readonly message: string;
  /** Where; missing for `unknown-server`. */
  readonly file?: string;
  readonly server?: string;
  /** Counted from 1. */
  readonly line?: number;
  readonly column?: number;
  /** In the document: `mcpServers.github.headers`. */
  readonly path?: string;
}
