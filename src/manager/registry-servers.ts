import { delay } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import { hasSharedIdentity } from "../catalog/tool-registry.js";
import { withAddressOrigin } from "../config/address-policy.js";
import type { CredentialOptions } from "../config/credential-options.js";
import type { HttpOptions } from "../config/http-options.js";
import { option, type OptionsOf, optionsSchema, parseOptions } from "../config/parse-options.js";
import { parseServer } from "../config/parse-server.js";
import type { ServerDefinition } from "../config/server-definition.js";
import { configError, type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeThrown, excerpt, printValue } from "../errors/sanitize-text.js";
import { isPlainObject, omitUndefined } from "../json/json.js";
import { type LimitedStore, limitStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import type { McpServerManager } from "./mcp-server-manager.js";
import { isLambdaArn, parsePublishedServer, PUBLISHED_PREFIX } from "./published-server.js";

/** Default options of `registryServers`. The table in the README is generated from this. */
export const REGISTRY_SERVER_DEFAULTS = { refreshIntervalMs: 60_000, unhealthyAfter: 3 } as const;

/** What requests to an origin are sent with. */
export type RegistryCredentials = CredentialOptions & HttpOptions;

const REGISTRY_FIELDS = {
  /**
   * Credentials by origin: the server of a registry never has any. Every origin also has to be in `allow`. Lambda functions
   * are called with the credentials that the AWS SDK finds.
   * @default {}
   */
  credentials: option.opaque<Readonly<Record<string, RegistryCredentials>>>(
    "an object by origin",
    isPlainObject,
  ),
  /**
   * How often the store is read and the health of the servers is checked. A store with a change feed, such as Redis, is
   * also read when it reports a change, at most once a second.
   * @default 60_000
   */
  refreshIntervalMs: option.count,
  /**
   * After how many failed health checks in a row a server is left out, with its tools. It is included again when it
   * responds. A server that requires a caller (`identity`) is not checked. With a `cache.store` that processes share and
   * that has a change feed, such as Redis, one of them checks a server for all.
   * @default 3
   */
  unhealthyAfter: option.count,
};

/** Options of `registryServers`. */
export interface RegistryServersOptions extends OptionsOf<typeof REGISTRY_FIELDS> {
  /**
   * The addresses that may be used: origins (`https://tools.example.com`) and ARNs of Lambda functions. A server of the
   * registry with another address is ignored, with a warning.
   */
  readonly allow: readonly string[];
}

/** Servers that are defined in a store: see `registryServers`. */
export interface RegistryServers {
  /**
   * Adds the servers of the registry to a manager, and keeps them up to date until it is closed. Resolves when the store
   * was read once and the servers are being connected. A store that cannot be read is logged, and read again later.
   *
   * @param manager a manager, or `toolset.servers`
   * @throws McpRuntimeError kind `closed` if the manager is closed
   */
  attach(manager: McpServerManager): Promise<void>;
}

interface RegistrySettings extends Required<RegistryServersOptions> {
  readonly store: KeyValueStore;
}

const OPTIONS_SCHEMA = optionsSchema<RegistryServersOptions>(
  {
    allow: option.opaque<readonly string[]>("an array of origins and ARNs with at least one", (value) => {
      return Array.isArray(value) && value.length > 0;
    }),
    ...REGISTRY_FIELDS,
  },
  { required: ["allow"] },
);
const STORE_SCHEMA = option.withMethods<KeyValueStore>(["get", "list"], "a store, such as redisStore(…)");

/**
 * Servers that others define in a shared store with `publishServer` and `withdrawServer`: they become servers of a running
 * toolset or manager and leave it again, with their tools. What is in the store is data: it cannot start commands, add
 * credentials, or name an address that `allow` does not have. A server of your own configuration takes precedence over
 * one with the same name in the store.
 *
 * @param store the store that the processes share, such as `redisStore(…)` or `dynamoStore(…)`. The caller closes it.
 * @throws McpRuntimeError kind `invalid-config` if an option is invalid
 * @example
 * ```ts
 * await using store = redisStore("redis://localhost:6379");
 * const registry = registryServers(store, {
 *   allow: ["https://tools.example.com"],
 *   credentials: { "https://tools.example.com": { headers: { authorization: `Bearer ${token}` } } },
 * });
 * await using toolset = await createMcpTools({}, { registry });
 * ```
 */
export function registryServers(store: KeyValueStore, options: RegistryServersOptions): RegistryServers {
  const subject = "The server registry";
  parseOptions(STORE_SCHEMA, store, { subject, path: "store" });
  const parsed = parseOptions(OPTIONS_SCHEMA, options, { subject });
  const settings = { ...REGISTRY_SERVER_DEFAULTS, credentials: {}, ...omitUndefined(parsed), store };
  const issues = validateAddresses(settings as RegistrySettings);
  if (issues.length > 0) throw configError(subject, issues);
  return { attach: (manager) => new RegistryFollower(manager, settings as RegistrySettings).start() };
}

function validateAddresses({ allow, credentials }: RegistrySettings): ConfigIssue[] {
  const invalid = allow.flatMap((address, index): ConfigIssue[] => {
    if (isOrigin(address) || isLambdaArn(address)) return [];
    const message =
      "expected an origin without a path, such as https://tools.example.com, or the ARN of a Lambda function";
    return [{ path: `allow[${index}]`, message }];
  });
  for (const [origin, credential] of Object.entries(credentials)) {
    const path = `credentials[${JSON.stringify(origin)}]`;
    if (!isOrigin(origin))
      invalid.push({ path, message: "expected an origin, such as https://tools.example.com" });
    else if (!allow.includes(origin))
      invalid.push({ path, message: "is not in allow, and would never be used" });
    else parseServer(path, { url: origin, ...credential });
  }
  return invalid;
}

const ORIGIN_PROTOCOLS: ReadonlySet<string> = new Set(["http:", "https:", "ws:", "wss:"]);

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && ORIGIN_PROTOCOLS.has(url.protocol) && url.origin === text;
}

/** A server of the registry that was added to the manager. */
interface RegistryEntry {
  /** The record that it was added with. */
  readonly record: string;
  /** Health checks that have failed in a row. */
  failures: number;
  /** The `disconnectCount` of the server since it was left out. It changes when the application disconnects the server. */
  disconnectCountWhenExcluded: number | undefined;
  /** A server that does not respond is not checked twice at the same time. */
  isBeingChecked: boolean;
}

interface DesiredServer {
  readonly record: string;
  readonly definition: ServerDefinition;
}

/** The store may be written by others: a larger registry is not read completely. */
const MAX_SERVERS = 1_000;
const READ_CONCURRENCY = 16;
/** How long after an update the store is read again because it has reported a change. */
const UPDATE_INTERVAL_MS = 1_000;
const PROVIDER = "registry";
/** Not names of servers. */
const READ_PROBLEM = "(read)";
const SIZE_PROBLEM = "(size)";

/** Keeps the servers of one manager as they are in the store. */
class RegistryFollower {
  readonly #manager: McpServerManager;
  readonly #settings: RegistrySettings;
  readonly #store: LimitedStore;
  readonly #entries = new Map<string, RegistryEntry>();
  /** The last problem of each server, by name, and of the store: each is logged once. */
  readonly #problems = new Map<string, string>();
  readonly #closed = new AbortController();
  /** The store has reported a change since the last read has started. */
  #isOutdated = false;
  #isStarted = false;
  #updating: Promise<void> | undefined;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #cancelNextUpdate: (() => void) | undefined;

  constructor(manager: McpServerManager, settings: RegistrySettings) {
    this.#manager = manager;
    this.#settings = settings;
    this.#store = limitStore(settings.store, manager.serverSet.settings.clock);
  }

  async start(): Promise<void> {
    const { closed } = this.#manager.serverSet;
    closed.throwIfCancelled();
    closed.onCancel((reason) => {
      this.#closed.abort(reason);
      this.#cancelNextUpdate?.();
    });
    // Subscribed before the store is read, so that no change is missed.
    await this.#watch().catch((error: unknown) =>
      this.#warn(READ_PROBLEM, `The server registry is not watched: ${printValue(error)}`),
    );
    await this.#update();
    this.#isStarted = true;
    void this.#refreshRegularly().catch(() => undefined);
  }

  async #watch(): Promise<void> {
    const unwatch = await this.#store.watch?.((key) => {
      if (key === undefined || key.startsWith(PUBLISHED_PREFIX)) this.#onStoreChanged();
    });
    // The store may have been closed before.
    this.#manager.serverSet.closed.onCancel(() => void unwatch?.().catch(() => undefined));
  }

  /** Rejects when the manager is closed. */
  async #refreshRegularly(): Promise<never> {
    const { closed, settings } = this.#manager.serverSet;
    for (;;) {
      await delay(this.#settings.refreshIntervalMs, settings.clock, closed, { unref: true });
      await this.#update();
      for (const [name, entry] of this.#entries) void this.#checkHealth(name, entry);
    }
  }

  #onStoreChanged(): void {
    this.#isOutdated = true;
    this.#scheduleUpdate();
  }

  /** Schedules one update for all changes since the last one: others may report changes without end. */
  #scheduleUpdate(): void {
    const { clock } = this.#manager.serverSet.settings;
    const isScheduled = this.#updating !== undefined || this.#cancelNextUpdate !== undefined;
    if (!this.#isOutdated || isScheduled || this.#closed.signal.aborted) return;
    const waitMs = Math.max(0, this.#updatedAt + UPDATE_INTERVAL_MS - clock.now());
    const update = () => {
      this.#cancelNextUpdate = undefined;
      if (this.#isOutdated) void this.#update();
    };
    this.#cancelNextUpdate = clock.after(waitMs, update, { unref: true });
  }

  /** Reads the store once and changes the servers accordingly, or waits for the update in progress. Never rejects. */
  #update(): Promise<void> {
    // Not started synchronously: the store may report a change while it is called.
    this.#updating ??= Promise.resolve().then(() => this.#updateOnce());
    return this.#updating;
  }

  async #updateOnce(): Promise<void> {
    this.#isOutdated = false;
    try {
      this.#apply(await this.#read());
      this.#problems.delete(READ_PROBLEM);
    } catch (error) {
      this.#warn(
        READ_PROBLEM,
        `The server registry could not be read, so its servers stay as they are: ${printValue(error)}`,
      );
    } finally {
      this.#updating = undefined;
      this.#updatedAt = this.#manager.serverSet.settings.clock.now();
      // What has changed during the update.
      this.#scheduleUpdate();
    }
  }

  async #read(): Promise<Map<string, DesiredServer>> {
    const { signal } = this.#closed;
    const keys = await this.#store.list(PUBLISHED_PREFIX, { signal });
    if (keys.length > MAX_SERVERS)
      this.#warn(
        SIZE_PROBLEM,
        `The server registry has ${keys.length} servers; the first ${MAX_SERVERS} are used.`,
      );
    const records = await mapConcurrent(keys.slice(0, MAX_SERVERS), READ_CONCURRENCY, async (key) => {
      return [key.slice(PUBLISHED_PREFIX.length), await this.#store.get(key, { signal })] as const;
    });
    const present = records.filter(([, value]) => value !== undefined);
    const names = new Set([...present.map(([name]) => name), READ_PROBLEM, SIZE_PROBLEM]);
    for (const name of this.#problems.keys()) if (!names.has(name)) this.#problems.delete(name);
    return new Map(present.flatMap(([name, value]) => this.#toDesired(name, value)));
  }

  /** A record is untrusted input: one that is invalid or not allowed is logged and ignored. */
  #toDesired(name: string, value: unknown): [string, DesiredServer][] {
    try {
      const { name: recordName, definition, address, raised } = parsePublishedServer(value);
      const { allow, credentials } = this.#settings;
      const problem = this.#findConflict(name);
      if (recordName !== name) throw new Error("It was written for another name.");
      if (!allow.includes(address)) throw new Error(`Its address ${address} is not in allow.`);
      if (problem !== undefined) throw new Error(problem);
      const complete = { ...credentials[address], ...definition, optional: true } as ServerDefinition;
      if (raised.length === 0) this.#problems.delete(name);
      else {
        const limits = raised.map(({ path, limit }) => `${path}: ${limit}`).join(", ");
        const reason = "because a registry can only shorten timeouts";
        this.#warn(name, `Server "${name}" of the registry is used with ${limits}, ${reason}.`);
      }
      return [
        [
          name,
          {
            record: JSON.stringify(value),
            definition: withAddressOrigin(complete, { source: "lookup", provider: PROVIDER }),
          },
        ],
      ];
    } catch (error) {
      const reason = describeThrown(error);
      this.#warn(name, `Server "${excerpt(name)}" of the registry is ignored. ${reason}`);
      return [];
    }
  }

  /** A server that the application has configured takes precedence. */
  #findConflict(name: string): string | undefined {
    const isOwn = this.#entries.has(name) && this.#isRegistryServer(name);
    const isUsed = !isOwn && this.#manager.serverSet.find(name) !== undefined;
    return isUsed ? "The application has a server with this name." : undefined;
  }

  /** Whether the server of this name is from the registry: the application may have replaced it. */
  #isRegistryServer(name: string): boolean {
    return this.#manager.serverSet.find(name)?.client.provenance.provider === PROVIDER;
  }

  #apply(desired: ReadonlyMap<string, DesiredServer>): void {
    const outdated = [...this.#entries].filter(([name, { record }]) => desired.get(name)?.record !== record);
    for (const [name] of outdated) {
      this.#entries.delete(name);
      // Unless the application has removed it. Closing may take a while: one that is added again waits for it.
      if (this.#isRegistryServer(name)) this.#manager.remove(name).catch(() => undefined);
    }
    for (const [name, server] of desired) if (!this.#entries.has(name)) this.#add(name, server);
  }

  /** Does not wait for the connection: its outcome is the state of the server. */
  #add(name: string, { record, definition }: DesiredServer): void {
    if (this.#closed.signal.aborted) return;
    const entry: RegistryEntry = {
      record,
      failures: 0,
      disconnectCountWhenExcluded: undefined,
      isBeingChecked: false,
    };
    this.#entries.set(name, entry);
    // Only the start has a caller, who receives the URL of a login.
    const isBackground = this.#isStarted;
    this.#manager.add(name, definition, {}, { isBackground }).catch((error: unknown) => {
      if (this.#entries.get(name) !== entry) return;
      // With the option `strict` of the manager. The next update tries again.
      this.#entries.delete(name);
      this.#warn(name, `Server "${name}" of the registry could not be added: ${printValue(error)}`);
    });
  }

  /** Never rejects. */
  async #checkHealth(name: string, entry: RegistryEntry): Promise<void> {
    const server = this.#manager.serverSet.find(name);
    if (server === undefined || entry.isBeingChecked || !hasSharedIdentity(server.client)) return;
    const isExcluded = server.isDisconnected && server.disconnectCount === entry.disconnectCountWhenExcluded;
    // Disconnected by the application.
    if (server.isDisconnected && !isExcluded) return;
    entry.isBeingChecked = true;
    try {
      // The client still sends requests while the server is disconnected; its catalog does not.
      if (isExcluded) {
        // Otherwise an open circuit would fail the check without asking the server.
        server.client.breaker?.forceClose();
        await server.client.listTools({ signal: this.#closed.signal }, { isBackground: true });
        if (this.#entries.get(name) === entry && server.disconnectCount === entry.disconnectCountWhenExcluded)
          await this.#manager.reconnect(name, {}, { isBackground: true });
      } else await server.catalog.refreshIfOlder(this.#settings.refreshIntervalMs);
      entry.failures = 0;
      entry.disconnectCountWhenExcluded = undefined;
    } catch (error) {
      // The application has disconnected the server or reconnects it, which ends the check.
      const wasClosed = error instanceof McpRuntimeError && error.kind === "closed";
      if (!isExcluded && (wasClosed || server.isDisconnected)) return;
      entry.failures += 1;
      if (!isExcluded && entry.failures >= this.#settings.unhealthyAfter)
        await this.#excludeUnhealthy(name, entry, error);
    } finally {
      entry.isBeingChecked = false;
    }
  }

  async #excludeUnhealthy(name: string, entry: RegistryEntry, reason: unknown): Promise<void> {
    if (this.#closed.signal.aborted || this.#entries.get(name) !== entry) return;
    this.#manager.serverSet.settings.warn(
      `Server "${name}" of the registry is left out until it responds: ${entry.failures} health checks in a row have failed. ${printValue(reason)}`,
    );
    // The count after this disconnect. It changes again if the application disconnects the server as well.
    entry.disconnectCountWhenExcluded = (this.#manager.serverSet.find(name)?.disconnectCount ?? 0) + 1;
    await this.#manager.disconnect(name).catch(() => undefined);
  }

  #warn(name: string, text: string): void {
    if (this.#closed.signal.aborted || this.#problems.get(name) === text) return;
    this.#problems.set(name, text);
    this.#manager.serverSet.settings.warn(text);
  }
}
