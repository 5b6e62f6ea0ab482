import { ListStore } from "../catalogue/list-store.js";
import { ToolCatalogue } from "../catalogue/tool-catalogue.js";
import { ToolPins } from "../catalogue/tool-pins.js";
import type { McpClient } from "../client/mcp-client.js";
import { systemClock } from "../concurrency/clock.js";
import type { JsonObject } from "../definitions/json.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import type { CatalogueSettings } from "./catalogue-options.js";

/** A server among others: its client, and what is known of its tools. */
export interface Member {
  readonly client: McpClient;
  readonly catalogue: ToolCatalogue;
  /** Set where changes of its tools are to be noticed. */
  readonly pins: ToolPins | undefined;
}

/** What whoever has a member wants to do with it. */
export interface MemberHooks {
  /** The server has listed its tools to this identity. */
  readonly onListed?: (identity: string, tools: readonly McpToolInfo[]) => void;
  /** Throws while nothing may be sent. */
  readonly guard?: () => void;
}

interface MemberParts extends MemberHooks {
  readonly client: McpClient;
  /** Where the server is, without anything secret. */
  readonly address: JsonObject;
  readonly settings: CatalogueSettings;
}

const now = () => Date.now();

export function createMember({ client, address, settings, onListed, guard }: MemberParts): Member {
  const { name: server, fingerprint } = client;
  const { freshMs, store, keepMs, pin, warn } = settings;
  const pins = pin === undefined ? undefined : new ToolPins({ server, mode: pin, address, store, warn });
  const catalogue = new ToolCatalogue({
    server,
    source: {
      identityOf: (asker) => client.identityOf(asker),
      listTools: async (options) => {
        guard?.();
        return client.listTools(options);
      },
    },
    freshMs,
    store:
      store === undefined
        ? undefined
        : // Pins outlive a token; a list is of what that token may see.
          new ListStore({ server, fingerprint, store, keepMs, now, warn }),
    clock: systemClock,
    now,
    inspect: async (tools, identity) => pins?.check(tools, identity),
    onListed,
    warn,
  });
  client.on("toolsChanged", () => catalogue.hearChange(), { quiet: true });
  return { client, catalogue, pins };
}
