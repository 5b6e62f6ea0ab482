import type { ConfigDocument } from "./parse-document.js";
import type { ConfigFormatName } from "./config-formats.js";

/**
 * Whose word a file is.
 * - `given`: yours, by its path
 * - `project`: of whoever wrote to the project's folder
 * - `user`: of whoever uses this machine
 */
export type ConfigScope = "given" | "project" | "user";

/**
 * What became of a server that stands in a file.
 * - `taken`: it is one of `servers`
 * - `shadowed`: its name, or where it is, was defined before
 * - `disabled`: it is switched off, in a file or by `enabledServers` and `disabledServers`
 * - `filtered`: your `filter` said no
 * - `broken`: see `problems`
 */
export type ConfigServerState = "taken" | "shadowed" | "disabled" | "filtered" | "broken";

export interface ConfigServer {
  readonly name: string;
  readonly state: ConfigServerState;
  /** Why it was not taken, for people. */
  readonly reason?: string;
  /** The environment variables, and the inputs as `input:id`, whose values it gets to see. */
  readonly variables: readonly string[];
  /** Its keys that mean nothing here. */
  readonly ignored: readonly string[];
}

/** A file that was read, and what became of its servers. */
export interface ConfigSource {
  readonly file: string;
  readonly scope: ConfigScope;
  readonly format: ConfigFormatName;
  readonly servers: readonly ConfigServer[];
}

/** A file whose servers have not been looked at. */
export interface ConfigFile extends Omit<ConfigSource, "servers"> {
  /** Of the project that it speaks for. */
  readonly folder: string;
  readonly text: string;
  readonly document: ConfigDocument;
}
