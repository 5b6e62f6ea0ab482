import type { CancelScope } from "../async/cancel-scope.js";
import type { RequestCredentials } from "../auth/credentials.js";
import { withDeadline } from "../async/clock.js";
import type { ClientInfo } from "../config/message-transport.js";
import type { ServerConfig, DynamicAddress, ServerAddress } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { JsonObject } from "../json/json.js";
import { createTransportFactory } from "../transports/create-transport-factory.js";
import type { ResumedSession, TransportDependencies, TransportFactory } from "../transports/transport.js";
import { type DetectedEra, openSession } from "./negotiate-era.js";
import { toCapabilities } from "./server-requests/server-request-handler.js";
import type { OpenSessionOptions } from "./open-session.js";
import { type SessionOpening, SessionPool, type SessionSlot } from "./session-pool.js";
import { type ServerNotification, type Session, type SessionContext, SHARED_IDENTITY } from "./session.js";
import type { StoredSession } from "./stored-session.js";
import { describeThrown } from "../errors/sanitize-text.js";
import { reservedHeaderNames } from "../transports/http/protocol-headers.js";

interface ConnectionEvents {
  /** Runs a handshake and observes its outcome. */
  readonly observeHandshake: (
    handshake: { readonly identity: string; readonly config: ReadyServerConfig },
    /** Sends `meta` as `_meta` of the first request. */
    runHandshake: (meta: JsonObject) => Promise<Session>,
  ) => Promise<Session>;
  /** A session was opened. It is used after the returned promise resolves, so that state can be restored. */
  readonly onOpened: (identity: string, session: Session, generation: number) => Promise<void>;
  /** The transport of a session closed unexpectedly. */
  readonly onDisconnected: (identity: string, generation: number) => void;
  /** The least recently used idle slot was evicted. */
  readonly onSlotEvicted: (identity: string) => void;
  readonly onNotification: (notification: ServerNotification, identity: string) => void;
  readonly onError: (error: Error, identity: string) => void;
}

interface ConnectionOptions extends ConnectionEvents, SessionContext, TransportDependencies {
  readonly clientInfo: ClientInfo;
  /** The address of a dynamic server is resolved when the connection is opened. */
  readonly config: ServerConfig;
  /** The detected protocol era. It outlives the connection. */
  readonly era: DetectedEra;
}

/** The options that differ between the sessions of one connection. */
interface SessionOpenOptions extends Pick<
  OpenSessionOptions,
  "cancellation" | "metadata" | "isShared" | "onDisconnected"
> {
  readonly resumed: ResumedSession | undefined;
}

/** The identity of a session, and what its requests are authenticated with. */
interface SlotCredentials {
  readonly identity: string;
  readonly credentials: RequestCredentials | undefined;
}

/** A session for a single request: not shared, not resumed, not observed. */
const FRESH_SESSION = {
  resumed: undefined,
  metadata: undefined,
  isShared: false,
  onDisconnected: () => undefined,
};

const NETWORK_KINDS: ReadonlySet<string> = new Set(["http", "sse", "websocket"]);

type CreateStoredSession = (identity: string) => StoredSession;

/**
 * The connection to one server, opened once: its address, its transport factory (with the HTTP pool) and
 * its sessions by identity. Sessions are initialized over it as often as needed.
 */
export class Connection {
  readonly config: ReadyServerConfig;
  readonly #options: ConnectionOptions;
  readonly #transportFactory: TransportFactory;
  readonly pool: SessionPool;
  /** Resolve when the sessions of `withFreshSession` are closed. */
  readonly #freshSessions = new Set<Promise<void>>();
  /** The number of sessions that are being opened. */
  #handshakes = 0;

  private constructor(
    config: ReadyServerConfig,
    options: ConnectionOptions,
    transportFactory: TransportFactory,
    createStoredSession: CreateStoredSession | undefined,
  ) {
    this.config = config;
    this.#options = options;
    this.#transportFactory = transportFactory;
    this.pool = new SessionPool({
      maxSlots: config.limits.identities,
      terminate: config.session.terminateOnClose,
      createCredentials: transportFactory.createCredentials,
      createStoredSession,
      openSession: (slot, opening) => this.#openSession(slot, opening),
      onEvicted: options.onSlotEvicted,
    });
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { redactor, clock, log, keys } = options;
    const config = await resolveServer(options.config, options);
    redactor.add(config.secrets);
    const dependencies = { redactor, clock, log, keys };
    const transportFactory = await createTransportFactory(config, config.address, dependencies);
    const createStoredSession = await loadSessionStore(config, options);
    return new Connection(config, options, transportFactory, createStoredSession);
  }

  /** Whether a session is being opened: that of an identity, or one for a single request. */
  get isHandshaking(): boolean {
    return this.#handshakes > 0 || this.pool.isOpening;
  }

  /**
   * Runs `work` on a new session and terminates the session afterwards. The cancellation of the work also cancels the
   * handshake, since no other caller waits for it.
   */
  withFreshSession<T>(
    slot: SlotCredentials,
    cancellation: CancelScope,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    const opening = this.#open(slot, { ...FRESH_SESSION, cancellation });
    const result = cancellation.race(opening).then(work);
    const closed = result
      .catch(() => undefined)
      .then(() => opening)
      .then((session) => session.close({ terminate: true }))
      .catch(() => undefined);
    this.#freshSessions.add(closed);
    void closed.then(() => this.#freshSessions.delete(closed));
    return result;
  }

  /**
   * Asks whether the server answers, without starting a login. Servers in the network are asked with a handshake of its own,
   * which the cancellation ends, and with the credentials that the identity has: a gateway may reject others although the
   * server behind it is down. Other servers are asked on the session that the next request uses, because a handshake may
   * start a process.
   */
  async probe(identity: string, cancellation: CancelScope): Promise<void> {
    if (!NETWORK_KINDS.has(this.config.address.kind)) {
      await this.pool.withSlot(SHARED_IDENTITY, undefined, async ({ currentSession }) => {
        const open = currentSession.ready;
        const handle = await currentSession.acquire(cancellation);
        const ping = { method: "ping", cancellation, ms: this.config.timeouts.connectMs };
        if (handle === open || handle.session.isResumed) await this.#request(handle.session, ping);
      });
      return;
    }
    const credentials = this.pool.slots.get(identity)?.credentials?.withoutLogin();
    await this.withFreshSession({ identity, credentials }, cancellation, async () => undefined);
  }

  /**
   * Opens a session, and checks that the server accepts the available credentials, without starting a login: in a
   * separate session if there are credentials. Some servers require them for `tools/list` only.
   */
  async tryToOpen(
    { identity, credentials, currentSession }: SessionSlot,
    { cancellation, listsTools }: { readonly cancellation: CancelScope; readonly listsTools: boolean },
  ): Promise<void> {
    if (credentials === undefined) {
      await currentSession.acquire(cancellation);
      return;
    }
    const slot = { identity, credentials: credentials.withoutLogin() };
    const { requestMs } = this.config.timeouts;
    await this.withFreshSession(slot, cancellation, async (session) => {
      if (listsTools) await this.#request(session, { method: "tools/list", cancellation, ms: requestMs });
    });
  }

  /** Sends a request within a time limit. */
  #request(
    session: Session,
    { method, cancellation, ms }: { method: string; cancellation: CancelScope; ms: number },
  ): Promise<unknown> {
    const { server, clock } = this.#options;
    const createError = () =>
      new McpRuntimeError("timeout", `Server "${server}" did not answer ${method} within ${ms} ms.`, {
        server,
      });
    return withDeadline({ ms, clock, cancellation, createError }, (limited) =>
      session.request({ method, params: {}, cancellation: limited }),
    );
  }

  /** Closes all sessions and the transport factory. The client must end calls and handshakes first. */
  async close(): Promise<void> {
    await Promise.all([this.pool.close(), ...this.#freshSessions]);
    await this.#transportFactory.close();
  }

  async #openSession(slot: SessionSlot, opening: SessionOpening): Promise<Session> {
    const { generation, previous, isBackground } = opening;
    const { cancellation, onOpened, onDisconnected } = this.#options;
    const { identity, storedSession } = slot;
    const withoutLogin = isBackground ? slot.credentials?.withoutLogin() : undefined;
    const credentials = withoutLogin ?? slot.credentials;
    const loaded = await storedSession?.load(previous);
    if (loaded === "modern") this.#options.era.isModern = true;
    const resumable = loaded === "modern" ? undefined : loaded;
    const resumed =
      resumable === undefined
        ? this.#resumeOption
        : { id: resumable.id, protocolVersion: resumable.metadata.protocolVersion };
    const session = await this.#open(
      { identity, credentials },
      {
        cancellation,
        resumed,
        metadata: resumable?.metadata,
        isShared: storedSession !== undefined || resumed !== undefined,
        onDisconnected: () => onDisconnected(identity, generation),
      },
    );
    withoutLogin?.allowLogin();
    if (!session.isResumed) await storedSession?.save(session);
    await onOpened(identity, session, generation);
    return session;
  }

  async #open(
    { identity, credentials }: SlotCredentials,
    { resumed, ...options }: SessionOpenOptions,
  ): Promise<Session> {
    const { era, observeHandshake, onNotification, onError } = this.#options;
    const { config } = this;
    // Only servers of the legacy era have sessions that can be resumed.
    const protocol = resumed === undefined ? config.protocol : "legacy";
    const open = (handshakeMeta: JsonObject = {}) =>
      openSession(protocol, era, {
        ...this.#options,
        config,
        identity,
        handshakeMeta,
        openTransport: (attempt) => this.#transportFactory.openTransport(credentials, resumed, attempt),
        onNotification: (notification) => onNotification(notification, identity),
        onError: (error) => onError(error, identity),
        ...options,
      });
    this.#handshakes += 1;
    try {
      return await (resumed === undefined ? observeHandshake({ identity, config }, open) : open());
    } finally {
      this.#handshakes -= 1;
    }
  }

  get #resumeOption(): ResumedSession | undefined {
    const { id, protocolVersion } = this.config.session;
    return id === undefined ? undefined : { id, protocolVersion };
  }
}

async function loadSessionStore(
  config: ReadyServerConfig,
  options: ConnectionOptions,
): Promise<CreateStoredSession | undefined> {
  const { address, handlers, session } = config;
  const { store, storeTtlMs } = session;
  if (store === undefined || address.kind !== "http") return undefined;
  const { StoredSession: Stored, toSessionKey } = await import("./stored-session.js");
  const capabilities = toCapabilities(handlers);
  return (identity) =>
    new Stored({
      ...options,
      store,
      storeTtlMs,
      key: toSessionKey({ url: address.url, identity, capabilities, clientName: options.clientInfo.name }),
    });
}

const INSECURE_SCHEMES: ReadonlySet<string> = new Set(["http:", "ws:"]);

/** A server configuration whose address is resolved. */
type ReadyServerConfig = ServerConfig & { readonly address: ServerAddress };

/** Resolves the address of a dynamic server. Warns about settings that have no effect. */
async function resolveServer(input: ServerConfig, context: SessionContext): Promise<ReadyServerConfig> {
  const config =
    input.address.kind === "dynamic"
      ? withInheritedPolicy(input, await runResolver(input, input.address, context))
      : input;
  const { address, name: server } = config;
  if (address.kind === "dynamic") {
    const text = `Server "${server}" resolves to another dynamic server; expected an address.`;
    throw new McpRuntimeError("invalid-config", text, { server });
  }
  const reserved = "headers" in address ? reservedHeaderNames(address.headers) : [];
  if (reserved.length > 0)
    context.log.warn(
      `Server "${server}": ignoring headers ${reserved.join(", ")}: they are set by the protocol.`,
    );
  if ("tls" in address && address.tls !== undefined && INSECURE_SCHEMES.has(address.url.protocol))
    context.log.warn(`Server "${server}": tls has no effect on a ${address.url.protocol}// address.`);
  return { ...config, address };
}

/** The address of a dynamic server was looked up, and the server and its toolset both have to allow it. */
function withInheritedPolicy(input: ServerConfig, resolved: ServerConfig): ServerConfig {
  const { addressOrigin: marked } = resolved;
  return {
    ...resolved,
    allowAddress: [...new Set([...input.allowAddress, ...resolved.allowAddress])],
    addressOrigin: marked.source === "operator" ? { source: "lookup" } : marked,
  };
}

async function runResolver(
  config: ServerConfig,
  address: DynamicAddress,
  { clock, redactor, cancellation, log }: SessionContext,
): Promise<ServerConfig> {
  const { name: server, timeouts } = config;
  const ms = timeouts.connectMs;
  const createError = () =>
    new McpRuntimeError("timeout", `The address of server "${server}" was not resolved within ${ms} ms.`, {
      server,
    });
  try {
    return await withDeadline({ ms, clock, cancellation, createError }, async (limited) => {
      const aborter = new AbortController();
      const unsubscribe = limited.onCancel((reason) => aborter.abort(reason));
      const context = { signal: aborter.signal, warn: (message: string) => log.warn(message) };
      return limited.race(address.resolve(context, server)).finally(unsubscribe);
    });
  } catch (error) {
    if (error instanceof McpRuntimeError) throw error;
    const reason = redactor.redact(describeThrown(error));
    const text = `Cannot resolve the address of server "${server}": ${reason}`;
    throw new McpRuntimeError("not-sent", text, { server, cause: redactor.redactCause(error) });
  }
}
