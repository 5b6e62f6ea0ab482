import type { FailureKind } from "../errors/failure-kinds.js";
import type { ServerDrift } from "./drift.js";

export interface CatalogEvents {
  /** Somebody wanted a server's tools: a fresh list was at hand, or an old one while it is listed anew, or nothing. */
  catalogRead: {
    readonly server: string;
    readonly identity: string;
    readonly result: "fresh" | "stale" | "miss";
  };
  /** A server was asked for its tools. */
  toolsListed: {
    readonly server: string;
    readonly latencyMs: number;
    /** How many there are; `undefined` when it failed. */
    readonly tools: number | undefined;
    readonly kind: FailureKind | undefined;
  };
  /** A tool says something else about itself than when it was approved (`pin`). */
  pinMismatch: {
    readonly server: string;
    readonly tool: string;
    readonly change: string;
    readonly isBlocked: boolean;
  };
  /** `detectDrift()` has compared a server with what was known of it. */
  driftChecked: ServerDrift & { readonly server: string };
}

/** Where the rooms around a catalogue tell what happens. */
export interface CatalogueWitness {
  emit<Name extends keyof CatalogEvents>(name: Name, event: CatalogEvents[Name]): void;
}
