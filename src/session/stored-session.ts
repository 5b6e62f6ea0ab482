import { createHash } from "node:crypto";
import { z } from "zod";
import { CancelScope } from "../async/cancel-scope.js";
import { withDeadline } from "../async/clock.js";
import { ZOD_CONTEXT } from "../config/parse-options.js";
import type { SessionStore } from "../config/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { SecretLease } from "../errors/redaction.js";
import { describeThrown } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import { LEGACY_VERSIONS } from "./protocol-eras.js";
import {
  INSTRUCTIONS,
  SERVER_INFO,
  type ServerMetadata,
  type Session,
  type SessionContext,
} from "./session.js";

/** A session that another process or run opened and saved. */
interface LoadedSession {
  readonly id: string;
  readonly metadata: ServerMetadata;
}

interface StoredSessionOptions extends SessionContext {
  readonly store: SessionStore;
  readonly storeTtlMs: number;
  readonly key: string;
}

/** For stores without a timeout of their own. */
const STORE_TIMEOUT_MS = 5_000;
/** The timeout for store operations while the client is closing. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Covers the stored session and the one that another process replaced it with. */
const MAX_FAILED_RESUMES = 2;

/** Store content is untrusted and validated like a message from the wire. */
const SESSION_ENTRY = z.object({
  id: z.string().regex(/^[\x21-\x7e]{1,8192}$/),
  protocolVersion: z.string().refine((version) => LEGACY_VERSIONS.includes(version)),
  capabilities: z.custom<JsonObject>(isPlainObject),
  serverInfo: SERVER_INFO,
  instructions: INSTRUCTIONS.optional(),
});
/** Marks a server of the modern era, which has no sessions. */
const MODERN_ENTRY = z.object({ protocolVersion: z.literal(MODERN_VERSION) });
const ENTRY = z.union([SESSION_ENTRY, MODERN_ENTRY]);

interface SessionKeyInput {
  readonly url: URL;
  /** The identity that owns the session; empty for the shared one. */
  readonly identity: string;
  /** The declared client capabilities: clients with other handlers must not share the session. */
  readonly capabilities: object;
  /** Servers may treat clients differently by their names. */
  readonly clientName: string;
}

/** The key is a hash, since a URL may contain secrets and an identity may contain a name. */
export function toSessionKey({ url, identity, capabilities, clientName }: SessionKeyInput): string {
  const { origin, pathname, search } = url;
  const input = JSON.stringify([origin, pathname, search, identity, capabilities, clientName]);
  return `session/${createHash("sha256").update(input).digest("hex")}`;
}

/**
 * The session of one identity in a store, shared with other processes and later runs. A failing store
 * causes a warning and a handshake, as without a store.
 */
export class StoredSession {
  readonly #options: StoredSessionOptions;
  #storeFailed = false;
  #failedResumes = 0;
  /** The session id that was loaded or saved last. */
  #storedId: string | undefined;
  /** Keeps the id of the session redacted while the session may be used. */
  idLease: SecretLease | undefined;

  constructor(options: StoredSessionOptions) {
    this.#options = options;
  }

  /**
   * Returns a session to resume instead of `previous`, which another process may have opened meanwhile;
   * or `"modern"` if another process found that the server has no sessions.
   */
  async load(
    previous: Pick<Session, "id" | "isConfirmed"> | undefined,
  ): Promise<LoadedSession | "modern" | undefined> {
    const { cancellation, redactor } = this.#options;
    this.#storeFailed = false;
    this.#failedResumes = previous?.isConfirmed === false ? this.#failedResumes + 1 : 0;
    if (this.#failedResumes >= MAX_FAILED_RESUMES) return undefined;
    const loaded = await this.#read(cancellation);
    cancellation.throwIfCancelled();
    if (loaded === "modern") return previous === undefined ? loaded : undefined;
    if (loaded === undefined || loaded.id === previous?.id) return undefined;
    this.idLease = redactor.addRotating(loaded.id, () => []);
    this.#storedId = loaded.id;
    return loaded;
  }

  /** Saves a session that has an id, or the fact that the server has no sessions. */
  async save({ id, metadata }: Pick<Session, "id" | "metadata">): Promise<void> {
    const { cancellation, redactor, store, storeTtlMs, key } = this.#options;
    if (metadata === undefined) return;
    if (id !== undefined) this.idLease = redactor.addRotating(id, () => []);
    const entry = toEntry(id, metadata);
    // A store that just failed to read is not waited for again.
    if (this.#storeFailed || entry === undefined) return;
    this.#storedId = id;
    await this.#runOperation("write", cancellation, (signal) =>
      store.set(key, entry, { signal, ttlMs: storeTtlMs }),
    );
  }

  /** Removes the terminated session, unless another session has replaced it in the store. */
  async delete(): Promise<void> {
    const { clock, store, key } = this.#options;
    const id = this.#storedId;
    if (id === undefined) return;
    const cancellation = new CancelScope();
    const cancelTimer = clock.after(CLOSE_TIMEOUT_MS, () => cancellation.cancel(undefined));
    const loaded = await this.#read(cancellation);
    if (loaded !== "modern" && loaded?.id === id)
      await this.#runOperation("delete", cancellation, (signal) => store.delete(key, { signal }));
    cancelTimer();
  }

  async #read(cancellation: CancelScope): Promise<LoadedSession | "modern" | undefined> {
    const { store, key } = this.#options;
    const entry = await this.#runOperation("read", cancellation, (signal) => store.get(key, { signal }));
    const parsed = ENTRY.safeParse(entry, ZOD_CONTEXT);
    if (!parsed.success) return undefined;
    if (!("id" in parsed.data)) return "modern";
    const { id, ...metadata } = parsed.data;
    return { id, metadata: { ...metadata, instructions: metadata.instructions } };
  }

  async #runOperation<Result>(
    operation: string,
    cancellation: CancelScope,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { clock } = this.#options;
    const controller = new AbortController();
    try {
      return await withDeadline(
        { ms: STORE_TIMEOUT_MS, clock, cancellation, createError: storeTimeoutError },
        (scope) => {
          scope.onCancel((reason) => controller.abort(reason));
          return scope.race((async () => work(controller.signal))());
        },
      );
    } catch (error) {
      this.#storeFailed = true;
      if (!cancellation.isCancelled) this.#warn(operation, error);
      return undefined;
    }
  }

  #warn(operation: string, error: unknown): void {
    const { server, log } = this.#options;
    const message = describeThrown(error);
    log.warn(
      `Server "${server}": the session store failed to ${operation}; continuing without it: ${message}`,
    );
  }
}

function storeTimeoutError(): McpRuntimeError {
  return new McpRuntimeError("timeout", `No response within ${STORE_TIMEOUT_MS} ms.`);
}

function toEntry(
  id: string | undefined,
  { serverInfo, capabilities, instructions, protocolVersion }: ServerMetadata,
): JsonObject | undefined {
  if (protocolVersion === MODERN_VERSION) return { protocolVersion };
  if (id === undefined || serverInfo === undefined) return undefined;
  const known = omitUndefined({ instructions });
  return { id, protocolVersion, capabilities, serverInfo: omitUndefined(serverInfo), ...known };
}
