import type { ClientState } from "../client/client-lifecycle.js";
import type { RequestOptions } from "../client/call-options.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { TieredRecordStore } from "./tiered-record-store.js";
import { schemaHash } from "../json-schema/schema-hash.js";
import { MAX_VERSION_LENGTH, type ServerRecord, createUnknownRecord } from "./server-record.js";
import { type Clock, systemClock } from "../async/clock.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";

/** Options of `ToolRegistry`. */
export interface ToolRegistryOptions {
  /**
   * Stores shared between processes, fastest first, such as Redis, then DynamoDB. The caller closes them.
   * @default []
   */
  readonly stores?: readonly KeyValueStore[];
  /**
   * How long a record that was read from the stores is used before they are read again.
   * @default 60_000
   */
  readonly recordTtlMs?: number;
  /**
   * How often servers are listed, by one process on behalf of all. Shortened by up to 20 % at random, so that
   * processes do not refresh at the same time.
   * @default 300_000
   */
  readonly refreshIntervalMs?: number;
  /** Receives warnings. @default a logger that writes to the console */
  readonly logger?: Logger;
  /** Timers and monotonic time. @default the system clock */
  readonly clock?: Clock;
  /** Unix time in milliseconds, which all processes that share the stores must agree on. @default Date.now */
  readonly now?: () => number;
  /** A random number between 0 and 1. @default Math.random */
  readonly random?: () => number;
}

/** Default registry options. The table in the README is generated from this. */
export const REGISTRY_DEFAULTS = { recordTtlMs: 60_000, refreshIntervalMs: 300_000 } as const;

type RegistrySettings = Readonly<Required<ToolRegistryOptions>>;

/** The part of `McpClient` that the registry uses. */
export interface RegistryClient {
  readonly name: string;
  readonly fingerprint: string;
  readonly state: ClientState;
  readonly serverInfo: { readonly version: string } | undefined;
  identityOf(options: Pick<RequestOptions, "context">): string;
  listTools(options: RequestOptions): Promise<McpToolInfo[]>;
}

/** A toolset, or any object with clients. Servers may be added and removed. */
interface RegistryToolset {
  readonly clients: Readonly<Record<string, RegistryClient>>;
}

/** A server that offers a given tool. */
export interface ToolLocation extends Omit<ServerRecord, "tools"> {
  /** Hash of the tool's input schema: 12 hex digits, independent of key order. */
  readonly schemaHash: string;
}

interface RegistryEntry {
  record: ServerRecord;
  /** When it was last read or listed, in clock time. */
  readAt: number;
  inFlight: Promise<ServerRecord> | undefined;
}

/** A record expires after this many refresh intervals without an update. */
const TTL_PERIODS = 2;
/** The largest fraction by which a refresh interval is shortened. */
const REFRESH_JITTER = 0.2;

/**
 * Finds the configured servers that offer a tool, with a cache shared between processes: memory, then each
 * store, then the server itself. Only for servers that offer all callers the same tools; a server with an
 * `identity` per user stays `unknown`. Records contain no addresses, and only those of configured servers
 * are read.
 *
 * @example
 * ```ts
 * const toolset = await createMcpTools(servers);
 * await using registry = new ToolRegistry(toolset, { stores: [redisStore("redis://localhost")] });
 * const [location] = await registry.find("search");
 * ```
 */
export class ToolRegistry implements AsyncDisposable {
  readonly #settings: RegistrySettings;
  readonly #records: TieredRecordStore;
  readonly #toolset: RegistryToolset;
  readonly #entries = new Map<RegistryClient, RegistryEntry>();
  readonly #closed = new AbortController();
  #cancelTimer: () => void;

  /**
   * Reads nothing yet: servers are listed on the first lookup, or after the first refresh interval.
   * @throws McpRuntimeError kind `invalid-config` if an option is invalid
   */
  constructor(toolset: RegistryToolset, options: ToolRegistryOptions = {}) {
    this.#settings = resolveRegistryOptions(options);
    const { stores, now, logger, refreshIntervalMs } = this.#settings;
    const warn = (message: string) => logger.warn(message);
    const { signal } = this.#closed;
    this.#records = new TieredRecordStore({
      stores,
      ttlMs: TTL_PERIODS * refreshIntervalMs,
      now,
      signal,
      warn,
    });
    this.#toolset = toolset;
    this.#cancelTimer = this.#scheduleRefresh();
  }

  /**
   * Finds the servers that offer a tool, healthy ones first.
   * @param tool the tool's name on the server
   * @throws McpRuntimeError kind `closed` after `close()`
   */
  async find(tool: string): Promise<ToolLocation[]> {
    const locations = (await this.records()).flatMap(({ tools, ...server }) => {
      const hash = tools.get(tool);
      return hash === undefined ? [] : [{ ...server, schemaHash: hash }];
    });
    const isFailing = ({ health }: ToolLocation) => Number(health.state === "failing");
    return locations.toSorted((a, b) => isFailing(a) - isFailing(b));
  }

  /**
   * The record of each server, in the order of configuration.
   * @throws McpRuntimeError kind `closed` after `close()`
   */
  records(): Promise<ServerRecord[]> {
    return this.#forEachClient((client) => this.#getFresh(client));
  }

  /**
   * Lists every server now and writes the records to the stores.
   * @throws McpRuntimeError kind `closed` after `close()`
   */
  refresh(): Promise<ServerRecord[]> {
    return this.#forEachClient(async (client) => {
      // The work in progress may only read the stores.
      await this.#getEntry(client).inFlight;
      return this.#singleFlight(client, () => this.#list(client));
    });
  }

  /** Stops refreshing and cancels work in progress. Clients and stores stay open. */
  async close(): Promise<void> {
    this.#cancelTimer();
    this.#closed.abort(new McpRuntimeError("closed", "The tool registry was closed."));
    await Promise.allSettled([...this.#entries.values()].map(async ({ inFlight }) => inFlight));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #clients(): RegistryClient[] {
    return Object.values(this.#toolset.clients);
  }

  async #forEachClient(work: (client: RegistryClient) => Promise<ServerRecord>): Promise<ServerRecord[]> {
    this.#closed.signal.throwIfAborted();
    const records = await Promise.all(this.#clients.map(work));
    this.#closed.signal.throwIfAborted();
    return records;
  }

  #scheduleRefresh(): () => void {
    const { clock, refreshIntervalMs, random } = this.#settings;
    // Jitter separates processes that started together: the first one lists on behalf of the others.
    const delayMs = refreshIntervalMs * (1 - REFRESH_JITTER * random());
    return clock.after(delayMs, () => {
      this.#cancelTimer = this.#scheduleRefresh();
      for (const client of this.#clients)
        this.#singleFlight(client, () => this.#refreshIfDue(client)).catch(() => undefined);
    });
  }

  async #getFresh(client: RegistryClient): Promise<ServerRecord> {
    const { clock, recordTtlMs } = this.#settings;
    const entry = this.#getEntry(client);
    if (clock.now() - entry.readAt < recordTtlMs) return entry.record;
    return this.#singleFlight(client, async () => {
      const record = this.#mergeNewest(client, await this.#records.read(client));
      return record.health.state === "unknown" ? this.#list(client) : record;
    });
  }

  /** Skips servers that another process has listed in this interval. */
  async #refreshIfDue(client: RegistryClient): Promise<ServerRecord> {
    const { now, refreshIntervalMs } = this.#settings;
    const record = this.#mergeNewest(client, await this.#records.read(client));
    const age = now() - (record.listedAt ?? Number.NEGATIVE_INFINITY);
    const isFresh = record.health.state === "ok" && age < refreshIntervalMs / 2;
    return isFresh ? record : this.#list(client);
  }

  async #list(client: RegistryClient): Promise<ServerRecord> {
    const { signal } = this.#closed;
    const { record } = this.#getEntry(client);
    if (!hasSharedIdentity(client) || client.state === "closed" || signal.aborted) return record;
    const { now, logger } = this.#settings;
    const { name: server } = client;
    try {
      const listed = await client.listTools({ signal });
      const tools = new Map(listed.map(({ name, inputSchema }) => [name, schemaHash(inputSchema)]));
      const version = client.serverInfo?.version.slice(0, MAX_VERSION_LENGTH) ?? record.version;
      return await this.#publish(client, {
        server,
        version,
        health: { state: "ok" },
        listedAt: now(),
        tools,
      });
    } catch (error) {
      if (signal.aborted) return record;
      logger.warn(`Server "${server}" could not be listed for the tool registry: ${String(error)}`);
      const since = record.health.state === "failing" ? record.health.since : now();
      return this.#publish(client, { ...record, health: { state: "failing", since } });
    }
  }

  async #publish(client: RegistryClient, record: ServerRecord): Promise<ServerRecord> {
    this.#getEntry(client).record = record;
    // A server that was never listed has nothing to store.
    if (record.listedAt !== undefined) await this.#records.write(client, record);
    return record;
  }

  /** Takes over the record that was read, unless the one in memory is newer. */
  #mergeNewest(client: RegistryClient, read: ServerRecord | undefined): ServerRecord {
    const entry = this.#getEntry(client);
    const isNewer = read !== undefined && (read.listedAt ?? 0) >= (entry.record.listedAt ?? 0);
    if (isNewer) entry.record = read;
    return entry.record;
  }

  /** Runs one operation per server at a time; concurrent callers share its result. */
  #singleFlight(client: RegistryClient, work: () => Promise<ServerRecord>): Promise<ServerRecord> {
    const entry = this.#getEntry(client);
    entry.inFlight ??= work().finally(() => {
      entry.inFlight = undefined;
      entry.readAt = this.#settings.clock.now();
    });
    return entry.inFlight;
  }

  #getEntry(client: RegistryClient): RegistryEntry {
    const entry = this.#entries.get(client) ?? {
      record: createUnknownRecord(client.name),
      readAt: Number.NEGATIVE_INFINITY,
      inFlight: undefined,
    };
    this.#entries.set(client, entry);
    return entry;
  }
}

/** Whether all callers share one identity on this server. */
function hasSharedIdentity(client: RegistryClient): boolean {
  try {
    return client.identityOf({}) === "";
  } catch {
    return false;
  }
}

function resolveRegistryOptions(options: ToolRegistryOptions): RegistrySettings {
  const { stores = [], logger = createConsoleLogger(), clock = systemClock, now = Date.now } = options;
  const { random = Math.random } = options;
  const {
    recordTtlMs = REGISTRY_DEFAULTS.recordTtlMs,
    refreshIntervalMs = REGISTRY_DEFAULTS.refreshIntervalMs,
  } = options;
  const issues = Object.entries({ recordTtlMs, refreshIntervalMs })
    .filter(([, ms]) => !(typeof ms === "number" && ms > 0))
    .map(([path, ms]) => ({
      path,
      message: `expected a number of milliseconds above 0, got ${describeValue(ms)}`,
    }));
  if (!Array.isArray(stores) || !stores.every(isStore))
    issues.push({ path: "stores", message: "expected an array of stores, such as [redisStore(…)]" });
  if (issues.length > 0) throw configError("The tool registry", issues);
  return { stores, recordTtlMs, refreshIntervalMs, logger, clock, now, random };
}

function isStore(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
