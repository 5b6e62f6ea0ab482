import { systemClock } from "../async/clock.js";
import { SingleFlight } from "../async/single-flight.js";
import type { RequestOptions } from "../client/call-options.js";
import type { ClientState } from "../client/client-lifecycle.js";
import { SHARED_IDENTITY } from "../session/session.js";
import type { McpToolInfo } from "../config/server-features.js";
import { hasMethods, option, type OptionsOf, optionsSchema, parseOptions } from "../config/parse-options.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { MAX_MESSAGE_LENGTH, type TextRedactor } from "../errors/redaction.js";
import { excerpt, printValue, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { compareSchemas } from "../json-schema/diff/compare-schemas.js";
import { describeChange } from "../json-schema/diff/parameter-change.js";
import { schemaHash } from "../json-schema/schema-hash.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import { type LimitedStore, limitStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { createConsoleLogger } from "../telemetry/logger.js";
import { CATALOGS } from "./tool-catalog.js";
import { MAX_CLOCK_SKEW_MS, toStoreKeyPrefix } from "./tool-list-store.js";

const positiveMs = option.opaque<number>(
  "a number of milliseconds above 0",
  (value) => typeof value === "number" && value > 0,
);

const REGISTRY_FIELDS = {
  /**
   * Stores shared between processes, fastest first, such as Redis, then DynamoDB. The caller closes them. A store that
   * fails or does not respond in time (2 s, or its `timeoutMs`) is reported and skipped.
   * @default []
   */
  stores: option.opaque<readonly KeyValueStore[]>("an array of stores, such as [redisStore(…)]", (value) => {
    return Array.isArray(value) && value.every((store) => hasMethods(store, "get"));
  }),
  /**
   * How long a record that was read from the stores is used before they are read again.
   * @default 60_000
   */
  recordTtlMs: positiveMs,
  /**
   * How often servers are listed, by one process on behalf of all. Shortened by up to 20 % at random, so that
   * processes do not refresh at the same time.
   * @default 300_000
   */
  refreshIntervalMs: positiveMs,
  /** Receives warnings. @default a logger that writes to the console */
  logger: option.logger,
  /** Timers and monotonic time. @default the system clock */
  clock: option.clock,
  /** Unix time in milliseconds, which all processes that share the stores must agree on. @default Date.now */
  now: option.function<() => number>(),
  /** A random number between 0 and 1. @default Math.random */
  random: option.function<() => number>(),
};

/** Options of `ToolRegistry`. */
export interface ToolRegistryOptions extends OptionsOf<typeof REGISTRY_FIELDS> {}

/** Default registry options. The table in the docs is generated from this. */
export const REGISTRY_DEFAULTS = { recordTtlMs: 60_000, refreshIntervalMs: 300_000 } as const;

interface RegistrySettings extends Readonly<Required<Omit<ToolRegistryOptions, "stores">>> {
  readonly stores: readonly LimitedStore[];
}

/** The state of a server in the registry. */
export type ServerHealth =
  | {
      /** The last listing succeeded. */
      readonly state: "ok";
    }
  | {
      /** The last listing failed; the tools are those last listed. */
      readonly state: "failing";
      /** When listing began to fail (Unix time in milliseconds). */
      readonly since: number;
    }
  | {
      /** Never listed, or the server offers each caller other tools. */
      readonly state: "unknown";
    };

/** What the registry has recorded about one server. Contains no address. */
export interface ServerRecord {
  /** The configured name. */
  readonly server: string;
  /** The version that the server reports; `undefined` if it is not known. */
  readonly version: string | undefined;
  /** Whether the last listing succeeded. */
  readonly health: ServerHealth;
  /** When the tools were last listed (Unix time in milliseconds); `undefined` if never. */
  readonly listedAt: number | undefined;
  /** Tool names on the server, each with a hash of its input schema. */
  readonly tools: ReadonlyMap<string, string>;
}

/** The part of `McpClient` that the registry uses. */
export interface RegistryClient {
  /** The configured name of the server. */
  readonly name: string;
  /** Identifies address and credentials without revealing them; part of the store key. */
  readonly fingerprint: string;
  /** @internal Redacts the secrets of the server. */
  readonly redactor?: TextRedactor;
  /** A client that is `closed` is not used, because that would reopen it. */
  readonly state: ClientState;
  /** What the server reports about itself; `undefined` before the first session. */
  readonly serverInfo: { readonly version: string } | undefined;
  /**
   * Returns an empty string if all callers share one identity.
   * @throws McpRuntimeError kind `unauthorized` if a caller is required
   */
  identityOf(options: Pick<RequestOptions, "context">): string;
  /**
   * Lists the tools from the server.
   * @throws McpRuntimeError why the list could not be read
   */
  listTools(options: RequestOptions): Promise<McpToolInfo[]>;
  /** @internal With `isBackground`, no login is started. */
  listTools(options: RequestOptions, details: { readonly isBackground: boolean }): Promise<McpToolInfo[]>;
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
  /** The tools of the record; `undefined` if another process listed them. */
  listed?: readonly McpToolInfo[] | undefined;
  /** When it was last read or listed, in clock time. */
  readAt: number;
}

/** Part of the store key. Increment it when the format changes, so that older records are ignored. */
const FORMAT = 1;
/** A stored record expires after this many refresh intervals without an update. */
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
  readonly #toolset: RegistryToolset;
  /** Weak: a server that is removed from the toolset must not be kept. */
  readonly #entries = new WeakMap<RegistryClient, RegistryEntry>();
  readonly #running = new SingleFlight<RegistryClient, ServerRecord>();
  readonly #closed = new AbortController();
  #cancelTimer: () => void;

  /**
   * Reads nothing yet: servers are listed on the first lookup, or after the first refresh interval.
   * @throws McpRuntimeError kind `invalid-config` if an option is invalid
   */
  constructor(toolset: RegistryToolset, options: ToolRegistryOptions = {}) {
    this.#settings = resolveRegistryOptions(options);
    this.#toolset = toolset;
    this.#cancelTimer = this.#scheduleRefresh();
  }

  /**
   * Finds the servers that offer a tool, healthy ones first.
   * @param tool the tool's name on the server
   * @throws McpRuntimeError kind `closed` after `close()`
   */
  async find(tool: string): Promise<ToolLocation[]> {
    const found = (await this.records()).filter(({ tools }) => tools.has(tool));
    await Promise.all(found.map(({ server }) => this.#updateToolset(server, tool)));
    const locations = found.map(({ tools, ...server }) => ({ ...server, schemaHash: tools.get(tool) ?? "" }));
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
      await this.#running.get(client);
      return this.#run(client, () => this.#list(client));
    });
  }

  /** Stops refreshing and cancels work in progress. Clients and stores stay open. */
  async close(): Promise<void> {
    this.#cancelTimer();
    this.#closed.abort(new McpRuntimeError("closed", "The tool registry was closed."));
    await Promise.allSettled(this.#running.all());
  }

  /** Calls `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Lists a server again whose record has a tool that the toolset does not know yet, so that it can be called. */
  async #updateToolset(server: string, tool: string): Promise<void> {
    const { signal } = this.#closed;
    const client = this.#toolset.clients[server];
    const catalog = client && CATALOGS.get(client);
    if (client === undefined || catalog === undefined || client.state === "closed") return;
    const known = await catalog.getCached();
    if (known === undefined || known.some(({ name }) => name === tool)) return;
    await catalog.refresh({ signal }).catch((error: unknown) => {
      const text = `The tools of server "${server}" could not be updated after tool "${tool}" was found: ${printValue(error)}`;
      if (!signal.aborted) this.#warn(client, text);
    });
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
        this.#run(client, () => this.#refreshIfDue(client)).catch(() => undefined);
    });
  }

  async #getFresh(client: RegistryClient): Promise<ServerRecord> {
    const { clock, recordTtlMs } = this.#settings;
    const entry = this.#getEntry(client);
    if (clock.now() - entry.readAt < recordTtlMs) return entry.record;
    return this.#run(client, async () => {
      const record = await this.#readStores(client);
      return record.health.state === "unknown" ? this.#list(client) : record;
    });
  }

  /** Skips servers that another process has listed in this interval. */
  async #refreshIfDue(client: RegistryClient): Promise<ServerRecord> {
    const { now, refreshIntervalMs } = this.#settings;
    const record = await this.#readStores(client);
    const age = now() - (record.listedAt ?? Number.NEGATIVE_INFINITY);
    const isFresh = record.health.state === "ok" && age < refreshIntervalMs / 2;
    return isFresh ? record : this.#list(client, { isBackground: true });
  }

  async #list(client: RegistryClient, { isBackground = false } = {}): Promise<ServerRecord> {
    const { signal } = this.#closed;
    const { record } = this.#getEntry(client);
    if (!hasSharedIdentity(client) || client.state === "closed" || signal.aborted) return record;
    const { now } = this.#settings;
    const { name: server } = client;
    try {
      const listed = await client.listTools({ signal }, { isBackground });
      const tools = new Map(listed.map(({ name, inputSchema }) => [name, schemaHash(inputSchema)]));
      const version = client.serverInfo?.version.slice(0, MAX_VERSION_LENGTH) ?? record.version;
      const listedAt = now();
      const current: ServerRecord = { server, version, health: { state: "ok" }, listedAt, tools };
      return await this.#publish(client, current, listed);
    } catch (error) {
      if (signal.aborted) return record;
      this.#warn(
        client,
        `Server "${server}" could not be listed for the tool registry: ${printValue(error)}`,
      );
      const since = record.health.state === "failing" ? record.health.since : now();
      return this.#publish(client, { ...record, health: { state: "failing", since } });
    }
  }

  async #publish(
    client: RegistryClient,
    record: ServerRecord,
    listed?: readonly McpToolInfo[],
  ): Promise<ServerRecord> {
    this.#setRecord(client, record, listed);
    // A server that was never listed has nothing to store.
    if (record.listedAt !== undefined) await this.#writeStores(client, record, this.#settings.stores);
    return record;
  }

  /** Warns about tools whose input schema differs from the previous record, by this or another process. */
  #setRecord(client: RegistryClient, record: ServerRecord, listed?: readonly McpToolInfo[]): void {
    const entry = this.#getEntry(client);
    const hashes = entry.record.tools;
    const changed = [...record.tools].flatMap(([name, hash]) =>
      (hashes.get(name) ?? hash) === hash ? [] : [name],
    );
    if (changed.length > 0)
      this.#warn(client, describeSchemaChanges(client.name, changed, entry.listed, listed));
    if (listed !== undefined || changed.length > 0) entry.listed = listed;
    entry.record = record;
  }

  /** Takes over the record of the first store that has one, unless the one in memory is newer. */
  async #readStores(client: RegistryClient): Promise<ServerRecord> {
    const { stores, now } = this.#settings;
    const { signal } = this.#closed;
    const entry = this.#getEntry(client);
    for (const [index, store] of stores.entries()) {
      const stored = await this.#tryStore(client, "read", (key) => store.get(key, { signal }));
      const record = parseRecord(stored, client.name, now());
      if (record === undefined) continue;
      await this.#writeStores(client, record, stores.slice(0, index));
      if ((record.listedAt ?? 0) >= (entry.record.listedAt ?? 0)) this.#setRecord(client, record);
      break;
    }
    return entry.record;
  }

  async #writeStores(
    client: RegistryClient,
    record: ServerRecord,
    stores: readonly LimitedStore[],
  ): Promise<void> {
    const options = {
      ttlMs: TTL_PERIODS * this.#settings.refreshIntervalMs,
      signal: this.#closed.signal,
    };
    const value = toStoredRecord(record);
    await Promise.all(
      stores.map((store) => this.#tryStore(client, "written", (key) => store.set(key, value, options))),
    );
  }

  /** A failing store is logged and skipped. */
  async #tryStore<T>(
    client: RegistryClient,
    operation: "read" | "written",
    work: (key: string) => Promise<T>,
  ): Promise<T | undefined> {
    const { name, fingerprint } = client;
    try {
      return await work(`registry/${FORMAT}/${toStoreKeyPrefix(name, fingerprint)}`);
    } catch (error) {
      const text = `The registry record of server "${name}" could not be ${operation}: ${printValue(error)}`;
      if (!this.#closed.signal.aborted) this.#warn(client, text);
      return undefined;
    }
  }

  #warn({ redactor }: RegistryClient, text: string): void {
    this.#settings.logger.warn(redactor?.sanitize(text, MAX_MESSAGE_LENGTH) ?? text);
  }

  /** Runs one operation per server at a time; concurrent callers share its result. */
  #run(client: RegistryClient, work: () => Promise<ServerRecord>): Promise<ServerRecord> {
    const entry = this.#getEntry(client);
    return this.#running.run(client, () => work().finally(() => (entry.readAt = this.#settings.clock.now())));
  }

  #getEntry(client: RegistryClient): RegistryEntry {
    const entry = this.#entries.get(client) ?? {
      record: createUnknownRecord(client.name),
      readAt: Number.NEGATIVE_INFINITY,
    };
    this.#entries.set(client, entry);
    return entry;
  }
}

/** Whether all callers share one identity on this server. */
export function hasSharedIdentity(client: Pick<RegistryClient, "identityOf">): boolean {
  try {
    return client.identityOf({}) === SHARED_IDENTITY;
  } catch {
    return false;
  }
}

const REGISTRY_SCHEMA = optionsSchema<ToolRegistryOptions>(REGISTRY_FIELDS);

function resolveRegistryOptions(options: ToolRegistryOptions): RegistrySettings {
  const parsed = parseOptions(REGISTRY_SCHEMA, options, { subject: "The tool registry" });
  const { stores = [], clock = systemClock, ...others } = parsed;
  return {
    ...REGISTRY_DEFAULTS,
    logger: createConsoleLogger(),
    now: Date.now,
    random: Math.random,
    ...omitUndefined(others),
    stores: stores.map((store) => limitStore(store, clock)),
    clock,
  };
}

const MAX_DESCRIBED_TOOLS = 5;

/** Describes how the input schemas of tools changed, as far as both versions are known. */
function describeSchemaChanges(
  server: string,
  names: readonly string[],
  before: readonly McpToolInfo[] = [],
  now: readonly McpToolInfo[] = [],
): string {
  const tools = names.slice(0, MAX_DESCRIBED_TOOLS).map((name) => {
    const [previous, current] = [before, now].map((list) => list.find((tool) => tool.name === name));
    if (previous === undefined || current === undefined) return `"${name}"`;
    const { severity, parameters } = compareSchemas(previous.inputSchema, current.inputSchema);
    const changes = parameters.slice(0, MAX_DESCRIBED_TOOLS).map(describeChange).join(", ");
    return `"${name}" (${[severity, changes].filter(Boolean).join(": ")})`;
  });
  const others = names.length - tools.length;
  const list = excerpt([...tools, ...(others > 0 ? [`and ${others} more`] : [])].join(", "));
  return `Server "${server}" changed the input schema of ${names.length === 1 ? "a tool" : `${names.length} tools`}: ${list}.`;
}

const MAX_TOOLS = 10_000;
/** A longer version is truncated when it is recorded. */
const MAX_VERSION_LENGTH = 200;
const HASH_PATTERN = /^[0-9a-f]{12}$/;

function createUnknownRecord(server: string): ServerRecord {
  return { server, version: undefined, health: { state: "unknown" }, listedAt: undefined, tools: new Map() };
}

function toStoredRecord({ server, version = "", health, listedAt, tools }: ServerRecord): JsonObject {
  return { server, version, health, listedAt, tools: [...tools] };
}

/** Parses a stored record, which is untrusted input; returns `undefined` if anything about it is invalid. */
function parseRecord(value: unknown, server: string, now: number): ServerRecord | undefined {
  if (!isPlainObject(value) || value["server"] !== server) return undefined;
  const { version, listedAt } = value;
  const latest = now + MAX_CLOCK_SKEW_MS;
  const health = parseHealth(value["health"], latest);
  const tools = parseTools(value["tools"]);
  if (typeof version !== "string" || version.length > MAX_VERSION_LENGTH) return undefined;
  if (health === undefined || tools === undefined || !isTimestamp(listedAt, latest)) return undefined;
  const shownVersion = stripHiddenCharacters(version);
  return { server, version: shownVersion === "" ? undefined : shownVersion, health, listedAt, tools };
}

function parseHealth(value: unknown, latest: number): ServerHealth | undefined {
  if (!isPlainObject(value)) return undefined;
  const { state, since } = value;
  if (state === "ok") return { state };
  return state === "failing" && isTimestamp(since, latest) ? { state, since } : undefined;
}

function parseTools(value: unknown): ReadonlyMap<string, string> | undefined {
  if (!Array.isArray(value) || value.length > MAX_TOOLS || !value.every(isTool)) return undefined;
  const tools = new Map(value);
  return tools.size === value.length ? tools : undefined;
}

function isTool(value: unknown): value is [string, string] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, hash] = value as unknown[];
  return typeof name === "string" && typeof hash === "string" && HASH_PATTERN.test(hash);
}

function isTimestamp(value: unknown, latest: number): value is number {
  return typeof value === "number" && value >= 0 && value <= latest;
}
