import type { CancelScope } from "../async/cancel-scope.js";
import type { JsonObject } from "../json/json.js";
import type { ServerAddress, ServerConfig } from "../config/server-config.js";
import { openTransportSource } from "../transports/create-transport-factory.js";
import type { ResumedSession, SourceParts, TransportFactory } from "../transports/transport-factory.js";
import { toCapabilities } from "./client-capabilities.js";
import { type EraFinding, openSession } from "./negotiate-era.js";
import type { OpeningOptions } from "./session-options.js";
import { type SessionSlot, SessionPool } from "./session-pool.js";
import type { ServerNotification, Session } from "./session.js";
import type { FoundSession, StoredSession } from "./stored-session.js";
import { WireIds } from "./wire-ids.js";

interface ConnectionEvents {
  /** Runs a handshake, and sees how it ends. */
  readonly watchHandshake: (
    handshake: { readonly identity: string; readonly config: ResolvedSpec },
    /** Its greeting carries this along. */
    shakeHands: (meta: JsonObject) => Promise<Session>,
  ) => Promise<Session>;
  /** A new session is there; what it should know is told to it before anybody uses it. */
  readonly onOpened: (identity: string, session: Session, generation: number) => Promise<void>;
  /** The transport below a session went by itself. */
  readonly onLost: (identity: string, generation: number) => void;
  /** An identity that was idle longest made room for others. */
  readonly onSeatGone: (identity: string) => void;
  readonly onNotification: (notification: ServerNotification, identity: string) => void;
  readonly onWarning: (message: string) => void;
  readonly onError: (error: Error, identity: string) => void;
}

export interface ConnectionOptions extends ConnectionEvents, SourceParts {
  readonly server: string;
  /** The server with its address, which may have to be looked up. */
  readonly resolveSpec: () => Promise<ResolvedSpec>;
  /** Ends handshakes when the client is closed; never one caller's signal. */
  readonly cancellation: CancelScope;
  /** What is known of the server, and found out. It outlives the connection. */
  readonly era: EraFinding;
}

/** A server whose address is known. */
export type ResolvedSpec = ServerConfig & { readonly address: ServerAddress };

/** What differs from session to session. */
interface Opening extends Pick<OpeningOptions, "cancellation" | "facts" | "ids" | "onLost"> {
  readonly resumed: ResumedSession | undefined;
}

/** A session that nobody else uses, or hears of. */
const ALONE = { resumed: undefined, facts: undefined, ids: undefined, onLost: () => undefined };

type CreateStored = (identity: string) => StoredSession;

interface ConnectionParts {
  readonly options: ConnectionOptions;
  readonly source: TransportFactory;
  readonly createStored: CreateStored | undefined;
}

/**
 * Phase 1: the way to one server, made once: its address, its pool, its sessions by identity.
 * Sessions come and go on it.
 */
export class Connection {
  readonly config: ResolvedSpec;
  readonly #options: ConnectionOptions;
  readonly #source: TransportFactory;
  /** The sessions, by identity. */
  readonly pool: SessionPool;
  /** The ends of sessions that somebody has alone. */
  readonly #ownSessions = new Set<Promise<void>>();

  private constructor(config: ResolvedSpec, { options, source, createStored }: ConnectionParts) {
    this.config = config;
    this.#options = options;
    this.#source = source;
    this.pool = new SessionPool({
      most: config.limits.identities,
      terminate: config.session.terminateOnClose,
      createCredentials: source.createCredentials,
      createStored,
      openSession: (slot, generation, lost) => this.#openSession(slot, generation, lost),
      onEvicted: options.onSeatGone,
    });
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { redactor, clock, log, keys } = options;
    const config = await options.resolveSpec();
    redactor.add(config.secrets);
    const source = await openTransportSource(config, config.address, { redactor, clock, log, keys });
    const createStored = await loadStored(config, options);
    return new Connection(config, { options, source, createStored });
  }

  /**
   * A session for one piece of work alone, which is ended with it. The work's cancellation also ends
   * the handshake: nobody else waits for it.
   */
  withOwnSession<T>(
    slot: SessionSlot,
    cancellation: CancelScope,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    const opening = this.#open(slot, { ...ALONE, cancellation });
    const working = cancellation.race(opening).then(work);
    const ended = working
      .catch(() => undefined)
      .then(() => opening)
      .then((session) => session.close({ terminate: true }))
      .catch(() => undefined);
    this.#ownSessions.add(ended);
    void ended.then(() => this.#ownSessions.delete(ended));
    return working;
  }

  /** Ends sessions and pool. Calls in flight and handshakes are the client's to end first. */
  async close(): Promise<void> {
    await Promise.all([this.pool.close(), ...this.#ownSessions]);
    await this.#source.close();
  }

  async #openSession(slot: SessionSlot, generation: number, lost: Session | undefined): Promise<Session> {
    const { cancellation, onOpened, onLost } = this.#options;
    const { identity, stored } = slot;
    const found = await stored?.find(lost);
    if (found === "modern") this.#options.era.isModern = true;
    const known = found === "modern" ? undefined : found;
    const resumed = known === undefined ? this.#pinned : toResumed(known);
    const isShared = stored !== undefined || resumed !== undefined;
    const session = await this.#open(slot, {
      cancellation,
      resumed,
      facts: known?.facts,
      ids: isShared ? new WireIds() : undefined,
      onLost: () => onLost(identity, generation),
    });
    if (!session.isResumed) await stored?.keep(session);
    await onOpened(identity, session, generation);
    return session;
  }

  async #open({ identity, credentials }: SessionSlot, { resumed, ...opening }: Opening): Promise<Session> {
    const { server, redactor, clock, onNotification, onWarning, onError, watchHandshake } = this.#options;
    // Whoever goes on with a session knows that there are sessions.
    const protocol = resumed === undefined ? this.config.protocol : "legacy";
    const open = (greetingMeta: JsonObject = {}) =>
      openSession(protocol, this.#options.era, {
        server,
        greetingMeta,
        openTransport: () => this.#source.openTransport(credentials, resumed),
        isForeign: this.config.address.kind === "custom",
        connectMs: this.config.timeouts.connectMs,
        redactor,
        clock,
        identity,
        handlers: this.config.handlers,
        maxServerRequests: this.config.limits.serverRequests,
        onNotification: (notification) => onNotification(notification, identity),
        onWarning,
        onError: (error) => onError(error, identity),
        ...opening,
      });
    return resumed === undefined ? watchHandshake({ identity, config: this.config }, open) : open();
  }

  get #pinned(): ResumedSession | undefined {
    const { id, protocolVersion } = this.config.session;
    return id === undefined ? undefined : { id, protocolVersion };
  }
}

function toResumed({ id, facts }: FoundSession): ResumedSession {
  return { id, protocolVersion: facts.protocolVersion };
}

async function loadStored(
  config: ResolvedSpec,
  options: ConnectionOptions,
): Promise<CreateStored | undefined> {
  const { address, handlers, session } = config;
  const { store, storeTtlMs } = session;
  if (store === undefined || address.kind !== "http") return undefined;
  const { StoredSession: Stored, sessionKeyOf } = await import("./stored-session.js");
  const capabilities = toCapabilities(handlers);
  return (identity) =>
    new Stored({
      ...options,
      store,
      storeTtlMs,
      key: sessionKeyOf({ url: address.url, identity, capabilities }),
    });
}
