import type { Clock } from "../async/clock.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { CatalogEvents } from "./catalog-events.js";
import type { ListStore } from "./tool-list-store.js";
import type { ToolSource } from "./tool-source.js";

/** What a catalogue is made of. */
export interface CatalogueParts {
  readonly server: string;
  readonly source: ToolSource;
  readonly staleAfterMs: number;
  readonly store: ListStore | undefined;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Looks at every list that comes from the server or from a store, before anybody gets it. */
  readonly inspect: (tools: readonly McpToolInfo[], identity: string) => Promise<void>;
  /** The server has listed to this identity what is now the list. */
  readonly onListed?: ((identity: string, tools: readonly McpToolInfo[]) => void) | undefined;
  /** Somebody asked, and this was at hand. */
  readonly onRead?: ((identity: string, found: CatalogEvents["catalogRead"]["result"]) => void) | undefined;
  readonly warn: (message: string) => void;
}
