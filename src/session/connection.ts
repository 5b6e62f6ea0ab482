import type { Cancellation } from "../async/cancel-scope.js";
import type { JsonObject } from "../json/json.js";
import type { ServerAddress, ServerSpec } from "../config/server-config.js";
import { openTransportSource } from "../transports/create-transport-factory.js";
import type { ResumedSession, SourceParts, TransportSource } from "../transports/transport-factory.js";
import { toCapabilities } from "./client-capabilities.js";
import { type EraFinding, openSession } from "./negotiate-era.js";
import type { OpeningOptions } from "./session-options.js";
import { type Seat, Seats } from "./session-pool.js";
import type { ServerNotification, Session } from "./session.js";
import type { FoundSession, StoredSession } from "./stored-session.js";
import { WireIds } from "./wire-ids.js";

interface ConnectionEvents {
  /** Runs a handshake, and sees how it ends. */
  readonly watchHandshake: (
    handshake: { readonly identity: string; readonly spec: ResolvedSpec },
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
  readonly cancellation: Cancellation;
  /** What is known of the server, and found out. It outlives the connection. */
  readonly era: EraFinding;
}

/** A server whose address is known. */
export type ResolvedSpec = ServerSpec & { readonly address: ServerAddress };

/** What differs from session to session. */
interface Opening extends Pick<OpeningOptions, "cancellation" | "facts" | "ids" | "onLost"> {
  readonly resumed: ResumedSession | undefined;
}

/** A session that nobody else uses, or hears of. */
const ALONE = { resumed: undefined, facts: undefined, ids: undefined, onLost: () => undefined };

type CreateStored = (identity: string) => StoredSession;

interface ConnectionParts {
  readonly options: ConnectionOptions;
  readonly source: TransportSource;
  readonly createStored: CreateStored | undefined;
}

/**
 * Phase 1: the way to one server, made once: its address, its pool, its sessions by identity.
 * Sessions come and go on it.
 */
export class Connection {
  readonly spec: ResolvedSpec;
  readonly #options: ConnectionOptions;
  readonly #source: TransportSource;
  /** The sessions, by identity. */
  readonly seats: Seats;
  /** The ends of sessions that somebody has alone. */
  readonly #ownSessions = new Set<Promise<void>>();

  private constructor(spec: ResolvedSpec, { options, source, createStored }: ConnectionParts) {
    this.spec = spec;
    this.#options = options;
    this.#source = source;
    this.seats = new Seats({
      most: spec.limits.identities,
      terminate: spec.session.terminateOnClose,
      createCredentials: source.createCredentials,
      createStored,
      openSession: (seat, generation, lost) => this.#openSession(seat, generation, lost),
      onGone: options.onSeatGone,
    });
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { redactor, clock, log, keys } = options;
    const spec = await options.resolveSpec();
    redactor.add(spec.secrets);
    const source = await openTransportSource(spec, spec.address, { redactor, clock, log, keys });
    const createStored = await loadStored(spec, options);
    return new Connection(spec, { options, source, createStored });
  }

  /**
   * A session for one piece of work alone, which is ended with it. The work's cancellation also ends
   * the handshake: nobody else waits for it.
   */
  withOwnSession<T>(
    seat: Seat,
    cancellation: Cancellation,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    const opening = this.#open(seat, { ...ALONE, cancellation });
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
    await Promise.all([this.seats.close(), ...this.#ownSessions]);
    await this.#source.close();
  }

  async #openSession(seat: Seat, generation: number, lost: Session | undefined): Promise<Session> {
    const { cancellation, onOpened, onLost } = this.#options;
    const { identity, stored } = seat;
    const found = await stored?.find(lost);
    if (found === "modern") this.#options.era.isModern = true;
    const known = found === "modern" ? undefined : found;
    const resumed = known === undefined ? this.#pinned : toResumed(known);
    const isShared = stored !== undefined || resumed !== undefined;
    const session = await this.#open(seat, {
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

  async #open({ identity, credentials }: Seat, { resumed, ...opening }: Opening): Promise<Session> {
    const { server, redactor, clock, onNotification, onWarning, onError, watchHandshake } = this.#options;
    // Whoever goes on with a session knows that there are sessions.
    const protocol = resumed === undefined ? this.spec.protocol : "legacy";
    const open = (greetingMeta: JsonObject = {}) =>
      openSession(protocol, this.#options.era, {
        server,
        greetingMeta,
        openTransport: () => this.#source.openTransport(credentials, resumed),
        isForeign: this.spec.address.kind === "custom",
        connectMs: this.spec.timeouts.connectMs,
        redactor,
        clock,
        identity,
        handlers: this.spec.handlers,
        maxServerRequests: this.spec.limits.serverRequests,
        onNotification: (notification) => onNotification(notification, identity),
        onWarning,
        onError: (error) => onError(error, identity),
        ...opening,
      });
    return resumed === undefined ? watchHandshake({ identity, spec: this.spec }, open) : open();
  }

  get #pinned(): ResumedSession | undefined {
    const { id, protocolVersion } = this.spec.session;
    return id === undefined ? undefined : { id, protocolVersion };
  }
}

function toResumed({ id, facts }: FoundSession): ResumedSession {
  return { id, protocolVersion: facts.protocolVersion };
}

async function loadStored(spec: ResolvedSpec, options: ConnectionOptions): Promise<CreateStored | undefined> {
  const { address, handlers, session } = spec;
  const { store, storeMs } = session;
  if (store === undefined || address.kind !== "http") return undefined;
  const { StoredSession: Stored, sessionKeyOf } = await import("./stored-session.js");
  const capabilities = toCapabilities(handlers);
  return (identity) =>
    new Stored({
      ...options,
      store,
      storeMs,
      key: sessionKeyOf({ url: address.url, identity, capabilities }),
    });
}
