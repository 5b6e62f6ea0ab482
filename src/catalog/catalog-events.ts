import type { FailureKind } from "../errors/failure-kinds.js";
import type { ServerDrift } from "./drift.js";

/** The events of a tool catalog, by name. */
export interface CatalogEvents {
  /** A caller read a server's tool list. `stale`: the cached list was used while it is refreshed; `miss`: nothing was cached. */
  catalogRead: {
    readonly server: string;
    readonly identity: string;
    readonly result: "fresh" | "stale" | "miss";
  };
  /** A `tools/list` request completed or failed. */
  toolsListed: {
    readonly server: string;
    readonly latencyMs: number;
    /** The number of tools; `undefined` if the request failed. */
    readonly tools: number | undefined;
    readonly kind: FailureKind | undefined;
  };
  /** A tool differs from its approved version (`pin`). */
  pinMismatch: {
    readonly server: string;
    readonly tool: string;
    readonly change: string;
    readonly isBlocked: boolean;
  };
  /** `detectDrift()` compared a server with its baseline. */
  driftChecked: ServerDrift & { readonly server: string };
}

export interface CatalogEventEmitter {
  emit<Name extends keyof CatalogEvents>(name: Name, event: CatalogEvents[Name]): void;
}
