import type { CancelScope } from "../async/cancel-scope.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { Asker } from "./tool-source.js";

/** Where a tool stands in its server's list. `unknown`: the list could not be had. */
export type LookUp =
  | { readonly state: "listed"; readonly info: McpToolInfo }
  | { readonly state: "unlisted" }
  | { readonly state: "unknown"; readonly error: unknown };

export interface LookUpOptions {
  readonly asker: Asker;
  readonly cancellation: CancelScope;
  /** A list that is older is asked for anew. */
  readonly maxAgeMs: number;
  /** The tool seems to be gone: only a list that was asked for because of such a doubt is believed. */
  readonly isDoubted?: boolean;
  /** How long to wait for it. */
  readonly waitMs: number;
}
