import type { Clock } from "../async/clock.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ListToolsOptions, RequestOptions } from "./call-options.js";
import type { ClientEvents } from "./client-events.js";
import type { ClientLife } from "./client-lifecycle.js";
import { LIST_KINDS } from "./list-kinds.js";
import { type ListKind, readPages } from "./fetch-all-pages.js";
import type { Requester } from "./request-runner.js";

interface ServerListsParts {
  readonly server: string;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly life: ClientLife;
  readonly requester: Requester;
}

/** Reads the lists of one server to their end. */
export class ServerLists {
  readonly #parts: ServerListsParts;

  constructor(parts: ServerListsParts) {
    this.#parts = parts;
  }

  /** Servers that list tools without announcing them are known: they are asked. */
  async tools(options: ListToolsOptions): Promise<McpToolInfo[]> {
    try {
      return await this.#read(LIST_KINDS.tools, options, undefined);
    } catch (error) {
      const offered = this.#parts.life.session?.facts?.capabilities;
      if (isUnknown(error) && offered !== undefined && offered["tools"] === undefined) return [];
      throw error;
    }
  }

  /** A server that does not know such things has none. */
  async ifAny<Item>(kind: ListKind<Item>, options: RequestOptions): Promise<Item[]> {
    try {
      return await this.#read(kind, options, kind.capability);
    } catch (error) {
      if (isUnknown(error)) return [];
      throw error;
    }
  }

  async #read<Item>(
    kind: ListKind<Item>,
    options: ListToolsOptions,
    capability: string | undefined,
  ): Promise<Item[]> {
    const { server, clock, events, life, requester } = this.#parts;
    const startedAt = clock.now();
    const { totalMs } = life.config.timeouts;
    // One total for all pages together; 0 means none.
    const leftMs = () => (totalMs === 0 ? 0 : Math.max(1, totalMs - (clock.now() - startedAt)));
    return requester.operation(options, (send) =>
      readPages(kind, {
        server,
        limits: () => life.config.limits,
        requestPage: (params) =>
          send(kind.method, params, { totalMs: leftMs(), isIdempotent: true, capability }),
        warn: (message) => events.warn(message),
        onTimeToLive: options.onTimeToLive,
      }),
    );
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof McpRuntimeError && error.kind === "not-found";
}
