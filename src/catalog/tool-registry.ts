import type { ClientState } from "../client/client-lifecycle.js";
import type { RequestOptions } from "../client/call-options.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { RegistryLevels } from "./tiered-record-store.js";
import {
  type RegistrySettings,
  resolveRegistryOptions,
  type ToolRegistryOptions,
} from "./registry-options.js";
import { schemaHash } from "../json-schema/schema-hash.js";
import { LONGEST_VERSION, type ServerRecord, unknownServer } from "./server-record.js";

/** What the registry needs of a client. */
export interface RegistryClient {
  readonly name: string;
  readonly fingerprint: string;
  readonly state: ClientState;
  readonly serverInfo: { readonly version: string } | undefined;
  identityOf(options: Pick<RequestOptions, "context">): string;
  listTools(options: RequestOptions): Promise<McpToolInfo[]>;
}

/** A toolset, or anything else that has clients. Servers may come and go. */
interface RegistryToolset {
  readonly clients: Readonly<Record<string, RegistryClient>>;
}

/** A server that has a tool. */
export interface ToolLocation extends Omit<ServerRecord, "tools"> {
  /** Of what the tool takes: 12 hex digits, whatever the order of keys. */
  readonly schemaHash: string;
}

interface Known {
  record: ServerRecord;
  /** When it was last read or listed, by the clock. */
  readAt: number;
  work: Promise<ServerRecord> | undefined;
}

/** A record that nobody renews is gone after as many periods. */
const PERIODS_KEPT = 2;
/** The part of a period by which it may be shorter. */
const SPREAD = 0.2;

/**
 * Which configured server has a tool, across processes. Asks this process's memory, then each store,
 * then the server itself. For what everybody is offered: a server that tells its users apart stays
 * `unknown`. Records hold no address, and only those of configured servers are ever read.
 */
export class ToolRegistry implements AsyncDisposable {
  readonly #settings: RegistrySettings;
  readonly #levels: RegistryLevels;
  readonly #toolset: RegistryToolset;
  readonly #known = new Map<RegistryClient, Known>();
  readonly #ended = new AbortController();
  #stopTimer: () => void;

  /** Asks nobody yet: that comes with the first question, or after the first period. */
  constructor(toolset: RegistryToolset, options: ToolRegistryOptions = {}) {
    this.#settings = resolveRegistryOptions(options);
    const { stores, now, logger, refreshIntervalMs } = this.#settings;
    const warn = (message: string) => logger.warn(message);
    const { signal } = this.#ended;
    this.#levels = new RegistryLevels({ stores, ttlMs: PERIODS_KEPT * refreshIntervalMs, now, signal, warn });
    this.#toolset = toolset;
    this.#stopTimer = this.#startTimer();
  }

  /** The servers that have a tool, by the server's own name of it: those that are well come first. */
  async find(tool: string): Promise<ToolLocation[]> {
    const found = (await this.records()).flatMap(({ tools, ...server }) => {
      const hash = tools.get(tool);
      return hash === undefined ? [] : [{ ...server, schemaHash: hash }];
    });
    const isFailing = ({ health }: ToolLocation) => Number(health.state === "failing");
    return found.toSorted((a, b) => isFailing(a) - isFailing(b));
  }

  /** What is known of each server, in configured order. */
  records(): Promise<ServerRecord[]> {
    return this.#each((source) => this.#believed(source));
  }

  /** Lists every server now, and tells the stores. */
  refresh(): Promise<ServerRecord[]> {
    return this.#each(async (source) => {
      // What is under way may only be reading.
      await this.#knownOf(source).work;
      return this.#once(source, () => this.#list(source));
    });
  }

  /** Ends the timer and what is under way. Clients and stores stay open. */
  async close(): Promise<void> {
    this.#stopTimer();
    this.#ended.abort(new McpRuntimeError("closed", "The tool registry was closed."));
    await Promise.allSettled([...this.#known.values()].map(async ({ work }) => work));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #sources(): RegistryClient[] {
    return Object.values(this.#toolset.clients);
  }

  async #each(work: (source: RegistryClient) => Promise<ServerRecord>): Promise<ServerRecord[]> {
    this.#ended.signal.throwIfAborted();
    const records = await Promise.all(this.#sources.map(work));
    this.#ended.signal.throwIfAborted();
    return records;
  }

  #startTimer(): () => void {
    const { clock, refreshIntervalMs, random } = this.#settings;
    // Processes that start together come apart: the first one lists for the others.
    const waitMs = refreshIntervalMs * (1 - SPREAD * random());
    return clock.after(waitMs, () => {
      this.#stopTimer = this.#startTimer();
      for (const source of this.#sources)
        this.#once(source, () => this.#renew(source)).catch(() => undefined);
    });
  }

  async #believed(source: RegistryClient): Promise<ServerRecord> {
    const { clock, recordTtlMs } = this.#settings;
    const known = this.#knownOf(source);
    if (clock.now() - known.readAt < recordTtlMs) return known.record;
    return this.#once(source, async () => {
      const record = this.#newest(source, await this.#levels.read(source));
      return record.health.state === "unknown" ? this.#list(source) : record;
    });
  }

  /** Not for what another process has listed in this period. */
  async #renew(source: RegistryClient): Promise<ServerRecord> {
    const { now, refreshIntervalMs } = this.#settings;
    const record = this.#newest(source, await this.#levels.read(source));
    const age = now() - (record.listedAt ?? Number.NEGATIVE_INFINITY);
    const isRenewed = record.health.state === "ok" && age < refreshIntervalMs / 2;
    return isRenewed ? record : this.#list(source);
  }

  async #list(source: RegistryClient): Promise<ServerRecord> {
    const { signal } = this.#ended;
    const { record } = this.#knownOf(source);
    if (!isShared(source) || source.state === "closed" || signal.aborted) return record;
    const { now, logger } = this.#settings;
    const { name: server } = source;
    try {
      const listed = await source.listTools({ signal });
      const tools = new Map(listed.map(({ name, inputSchema }) => [name, schemaHash(inputSchema)]));
      const version = source.serverInfo?.version.slice(0, LONGEST_VERSION) ?? record.version;
      return await this.#tell(source, { server, version, health: { state: "ok" }, listedAt: now(), tools });
    } catch (error) {
      if (signal.aborted) return record;
      logger.warn(`Server "${server}" could not be listed for the registry: ${String(error)}`);
      const since = record.health.state === "failing" ? record.health.since : now();
      return this.#tell(source, { ...record, health: { state: "failing", since } });
    }
  }

  async #tell(source: RegistryClient, record: ServerRecord): Promise<ServerRecord> {
    this.#knownOf(source).record = record;
    // Of a server that was never listed there is nothing to tell.
    if (record.listedAt !== undefined) await this.#levels.write(source, record);
    return record;
  }

  /** What a level gave, unless this process knows better: the last good view stays. */
  #newest(source: RegistryClient, read: ServerRecord | undefined): ServerRecord {
    const known = this.#knownOf(source);
    const isNewer = read !== undefined && (read.listedAt ?? 0) >= (known.record.listedAt ?? 0);
    if (isNewer) known.record = read;
    return known.record;
  }

  /** One piece of work at a time for each server, for all who want it. */
  #once(source: RegistryClient, work: () => Promise<ServerRecord>): Promise<ServerRecord> {
    const known = this.#knownOf(source);
    known.work ??= work().finally(() => {
      known.work = undefined;
      known.readAt = this.#settings.clock.now();
    });
    return known.work;
  }

  #knownOf(source: RegistryClient): Known {
    const known = this.#known.get(source) ?? {
      record: unknownServer(source.name),
      readAt: Number.NEGATIVE_INFINITY,
      work: undefined,
    };
    this.#known.set(source, known);
    return known;
  }
}

/** Whether everybody is one on it. */
function isShared(source: RegistryClient): boolean {
  try {
    return source.identityOf({}) === "";
  } catch {
    return false;
  }
}
