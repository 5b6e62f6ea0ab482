import { createHash } from "node:crypto";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { withDeadline } from "../async/deadline.js";
import type { JsonObject } from "../json/json.js";
import type { SessionStore } from "../config/session-store.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import type { ServerMetadata, Session } from "./session.js";

/** A session that somebody has opened and left for others. */
export interface FoundSession {
  readonly id: string;
  readonly facts: ServerMetadata;
}

interface StoredSessionOptions {
  readonly server: string;
  readonly store: SessionStore;
  readonly storeTtlMs: number;
  readonly key: string;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** Ends what is under way when the client is closed. */
  readonly cancellation: CancelScope;
  readonly onWarning: (message: string) => void;
}

/** Stores have limits of their own; this is for one that has none. */
const MAX_STORE_MS = 5_000;
/** How long a store is waited for when the client is being closed. */
const MAX_FAREWELL_MS = 1_000;
/** The one that was there, and the one that another process put in its place. */
const MOST_IN_VAIN = 2;

/** What is read back was written by somebody: it is checked as if it came from the wire. */
const SESSION_ENTRY = z.object({
  id: z.string().regex(/^[\x21-\x7e]{1,8192}$/),
  protocolVersion: z.string().refine((version) => SUPPORTED_PROTOCOL_VERSIONS.includes(version)),
  capabilities: z.record(z.string(), z.unknown()),
  serverInfo: z.object({ name: z.string(), version: z.string(), title: z.string().optional() }),
  instructions: z.string().optional(),
});
/** In place of a session, where a server has none. */
const MODERN_ENTRY = z.object({ protocolVersion: z.literal(MODERN_VERSION) });
const ENTRY = z.union([SESSION_ENTRY, MODERN_ENTRY]);

interface SessionPlace {
  readonly url: URL;
  /** Whose session it is; empty for everybody's. */
  readonly identity: string;
  /** What the server was told that it may ask for: a session of others who answer more or less is not ours. */
  readonly capabilities: object;
}

/** An address may hold secrets in its path and query, and an identity a name: the key shows none of them. */
export function sessionKeyOf({ url, identity, capabilities }: SessionPlace): string {
  const { origin, pathname, search } = url;
  const place = JSON.stringify([origin, pathname, search, identity, capabilities]);
  return `session/${createHash("sha256").update(place).digest("hex")}`;
}

/**
 * The session of one identity, as a store keeps it for other processes and later runs. A store that
 * fails is a warning: then there is a handshake, as there would be without a store.
 */
export class StoredSession {
  readonly #options: StoredSessionOptions;
  #isDown = false;
  #inVain = 0;
  /** The one that was found or left there last. */
  #id: string | undefined;

  constructor(options: StoredSessionOptions) {
    this.#options = options;
  }

  /**
   * One to go on with, in place of the one that was lost: another process may have opened it by now.
   * Or that the server has none, as another process has found out.
   */
  async find(
    lost: Pick<Session, "id" | "isProven"> | undefined,
  ): Promise<FoundSession | "modern" | undefined> {
    const { cancellation, redactor } = this.#options;
    this.#isDown = false;
    this.#inVain = lost?.isProven === false ? this.#inVain + 1 : 0;
    if (this.#inVain >= MOST_IN_VAIN) return undefined;
    const found = await this.#read(cancellation);
    cancellation.throwIfCancelled();
    if (found === "modern") return lost === undefined ? found : undefined;
    if (found === undefined || found.id === lost?.id) return undefined;
    redactor.addPassing(found.id, () => []);
    this.#id = found.id;
    return found;
  }

  /** Leaves a session for others, if the server has given it an id; or that it has none to give. */
  async keep({ id, facts }: Pick<Session, "id" | "facts">): Promise<void> {
    const { cancellation, redactor, store, storeTtlMs, key } = this.#options;
    if (facts === undefined) return;
    if (id !== undefined) redactor.addPassing(id, () => []);
    const entry = toEntry(id, facts);
    // Who could not read it just now need not wait for it again.
    if (this.#isDown || entry === undefined) return;
    this.#id = id;
    await this.#use("write", cancellation, (signal) => store.set(key, entry, { signal, ttlMs: storeTtlMs }));
  }

  /** The session has been ended: nobody should find it any more. Another one that is there by now stays. */
  async forget(): Promise<void> {
    const { clock, store, key } = this.#options;
    const id = this.#id;
    if (id === undefined) return;
    const cancellation = new CancelScope();
    const stopTimer = clock.after(MAX_FAREWELL_MS, () => cancellation.cancel(undefined));
    const found = await this.#read(cancellation);
    if (found !== "modern" && found?.id === id)
      await this.#use("delete", cancellation, (signal) => store.delete(key, { signal }));
    stopTimer();
  }

  async #read(cancellation: CancelScope): Promise<FoundSession | "modern" | undefined> {
    const { store, key } = this.#options;
    const entry = await this.#use("read", cancellation, (signal) => store.get(key, { signal }));
    const parsed = ENTRY.safeParse(entry);
    if (!parsed.success) return undefined;
    return "id" in parsed.data ? toFound(parsed.data) : "modern";
  }

  async #use<Result>(
    what: string,
    cancellation: CancelScope,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { clock } = this.#options;
    const controller = new AbortController();
    try {
      return await withDeadline({ ms: MAX_STORE_MS, clock, cancellation, expired: tooSlow }, (limited) => {
        limited.onCancel((reason) => controller.abort(reason));
        return limited.race((async () => work(controller.signal))());
      });
    } catch (error) {
      this.#isDown = true;
      if (!cancellation.isCancelled) this.#warn(what, error);
      return undefined;
    }
  }

  #warn(what: string, error: unknown): void {
    const { server, onWarning } = this.#options;
    const said = error instanceof Error ? error.message : String(error);
    onWarning(`Server "${server}": the session store failed to ${what}, so it goes without: ${said}`);
  }
}

function tooSlow(): McpRuntimeError {
  return new McpRuntimeError("timeout", `It did not answer within ${MAX_STORE_MS} ms.`);
}

function toEntry(
  id: string | undefined,
  { serverInfo, capabilities, instructions, protocolVersion }: ServerMetadata,
): JsonObject | undefined {
  if (protocolVersion === MODERN_VERSION) return { protocolVersion };
  if (id === undefined || serverInfo === undefined) return undefined;
  const { name, version, title } = serverInfo;
  return {
    id,
    protocolVersion,
    capabilities,
    serverInfo: { name, version, ...(title === undefined ? {} : { title }) },
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function toFound({ id, ...facts }: z.infer<typeof SESSION_ENTRY>): FoundSession {
  const { serverInfo, capabilities, instructions, protocolVersion } = facts;
  return { id, facts: { serverInfo, capabilities, instructions, protocolVersion } };
}
