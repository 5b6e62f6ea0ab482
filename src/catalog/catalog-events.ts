import type { FailureKind } from "../errors/failure-kinds.js";
import type { ServerDrift } from "./drift.js";

/** The events of a tool catalog, by name. */
export interface CatalogEvents {
  /** A caller read a server's tool list. `stale`: the cached list was used while it is refreshed; `miss`: nothing was cached. */
  catalogRead: {
    readonly server: string;
    /** The caller's identity; an empty string if all callers share one. */
    readonly identity: string;
    readonly result: "fresh" | "stale" | "miss";
  };
  /** A `tools/list` request completed or failed. */
  toolsListed: {
    readonly server: string;
    /** The duration of the request, including retries. */
    readonly latencyMs: number;
    /** The number of tools; `undefined` if the request failed. */
    readonly tools: number | undefined;
    /** Why the request failed; `undefined` if it succeeded. */
    readonly kind: FailureKind | undefined;
  };
  /** A tool or a skill differs from its approved version (`pin`). */
  pinMismatch: {
    readonly server: string;
    /** The tool's name on the server; `undefined` for a skill. */
    readonly tool: string | undefined;
    /** The URI of the skill; `undefined` for a tool. */
    readonly skill?: string | undefined;
    /** What changed, as a phrase: `its description changed`. */
    readonly change: string;
    /** Whether it is not used until it is approved (`pin: "block"`). */
    readonly isBlocked: boolean;
  };
  /** `detectDrift()` compared a server with its baseline. */
  driftChecked: ServerDrift & { readonly server: string };
}

/** Receives the events of catalogs and pins. */
export interface CatalogEventEmitter {
  /** Reports an event. Must not throw. */
  emit<Name extends keyof CatalogEvents>(name: Name, event: CatalogEvents[Name]): void;
}
