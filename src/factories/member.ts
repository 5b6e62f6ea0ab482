import { ListStore } from "../catalogue/list-store.js";
import { ToolCatalogue } from "../catalogue/tool-catalogue.js";
import { ToolPins } from "../catalogue/tool-pins.js";
import type { McpClient } from "../client/mcp-client.js";
import { systemClock } from "../concurrency/clock.js";
import type { JsonObject } from "../definitions/json.js";
import type { CatalogueSettings } from "./catalogue-options.js";

/** A server of a toolset: its client, and what is known of its tools. */
export interface Member {
  readonly client: McpClient;
  readonly catalogue: ToolCatalogue;
  /** Set where changes of its tools are to be noticed. */
  readonly pins: ToolPins | undefined;
}

const now = () => Date.now();

export function createMember(client: McpClient, address: JsonObject, settings: CatalogueSettings): Member {
  const { name: server } = client;
  const { freshMs, store, keepMs, pin, warn } = settings;
  const pins = pin === undefined ? undefined : new ToolPins({ server, mode: pin, address, store, warn });
  const catalogue = new ToolCatalogue({
    server,
    source: client,
    freshMs,
    store: store === undefined ? undefined : new ListStore({ server, address, store, keepMs, now, warn }),
    clock: systemClock,
    now,
    inspect: async (tools) => pins?.check(tools),
    warn,
  });
  client.on("toolsChanged", () => catalogue.hearChange(), { quiet: true });
  return { client, catalogue, pins };
}
