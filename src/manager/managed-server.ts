import type { McpClient } from "../client/mcp-client.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolCaller } from "../tools/tool-runtime.js";
import { KnownTools } from "./latest-tools.js";
import type { ManagedServerParts, ServerMoment } from "./managed-server-dependencies.js";
import type { Member, MemberHooks } from "./server-internals.js";
import { ReconnectLadder } from "./reconnect-schedule.js";
import type { ServerState, ServerStatus } from "./server-status.js";
import { toFailure } from "./to-runtime-error.js";

/** One server among many: whether it is wanted, how far it is, and what was last known of its tools. */
export class ManagedServer {
  readonly name: string;
  readonly isLazy: boolean;
  readonly isOptional: boolean;
  readonly #parts: ManagedServerParts;
  readonly #member: Member;
  readonly #ladder: ReconnectLadder;
  /** Counts the times it was let go: what began before decides nothing after. */
  #chapter = 0;
  #state: ServerState = "idle";
  #since = Date.now();
  #error: McpRuntimeError | undefined;
  #attempt: Promise<void> | undefined;
  readonly #known: KnownTools;

  constructor(createMember: (hooks: MemberHooks) => Member, parts: ManagedServerParts) {
    this.name = parts.name;
    this.isLazy = parts.isLazy;
    this.isOptional = parts.isOptional;
    this.#parts = parts;
    this.#known = new KnownTools(() => parts.onToolsChange());
    this.#member = createMember({
      onListed: (identity, tools) => {
        if (identity === this.#ownIdentity()) this.#known.take(tools);
      },
      guard: () => this.throwIfOff(),
    });
    this.#ladder = new ReconnectLadder({
      clock: parts.clock,
      isRemote: parts.isRemote,
      reopen: () => this.client.ensureSession(),
      onGivenUp: (error) => this.#turn("failed", toFailure(error)),
    });
    this.#hear(this.#member.client);
  }

  get member(): Member {
    return this.#member;
  }

  get client(): McpClient {
    return this.#member.client;
  }

  get state(): ServerState {
    const isOpening = this.client.state === "connecting" && MAY_OPEN_BY_ITSELF.has(this.#state);
    return isOpening ? "connecting" : this.#state;
  }

  /** Whether the last attempt failed, also while what it began is still opening or a call tries again. */
  get hasFailed(): boolean {
    return this.#state === "failed";
  }

  get error(): McpRuntimeError | undefined {
    return this.#error;
  }

  get known(): KnownTools {
    return this.#known;
  }

  get isListed(): boolean {
    return this.#parts.isListed;
  }

  get isOff(): boolean {
    return this.#state === "disconnected";
  }

  /** Calls through the client, for as long as it is wanted. A client alone could be used again. */
  get caller(): ToolCaller {
    return {
      closed: this.#parts.closed,
      callTool: async (call, options) => {
        this.throwIfOff(call.name);
        this.#member.pins?.throwIfBlocked(call.name);
        try {
          return await this.client.callTool(call, options);
        } catch (error) {
          const isUnknown = error instanceof McpRuntimeError && error.kind === "not-found";
          if (isUnknown) this.#member.catalogue.invalidate();
          throw error;
        }
      },
    };
  }

  status(): ServerStatus {
    const { state } = this;
    return {
      state,
      since: this.#since,
      tools: this.#known.tools?.length ?? 0,
      ...(this.#error === undefined || state === "connecting" ? {} : { error: this.#error }),
      breaker: this.client.breaker?.stats().state,
      latencyMs: this.client.lastLatencyMs,
    };
  }

  /** What it goes back to when the next attempt is undone: nothing that is under way. */
  moment(): ServerMoment {
    return { state: SETTLED_AS[this.#state] ?? this.#state, error: this.#error };
  }

  /** What a store knows of its tools, without asking the server. */
  async recall(): Promise<void> {
    const known = this.#parts.isListed ? await this.#member.catalogue.atHand() : undefined;
    if (known !== undefined && this.#known.tools === undefined) this.#known.take(known);
  }

  /** Opens a session and learns its tools. Shared by whoever asks meanwhile; rejects when it fails. */
  connect(): Promise<void> {
    if (this.#state === "connected") return Promise.resolve();
    this.#attempt ??= this.#tryOnce();
    return this.#attempt;
  }

  /** As `connect`, but what has failed or was disconnected is not tried again. */
  async whenConnected(): Promise<void> {
    this.throwIfOff();
    if (this.#state === "failed" && this.#error !== undefined) throw this.#error;
    await this.connect();
  }

  /** Ends its sessions, its calls in flight and whatever is being opened, and is then as `moment` says. */
  async letGo(moment: ServerMoment = OFF): Promise<void> {
    const { state, error } = this.#parts.closed.isCancelled ? OFF : moment;
    this.#chapter += 1;
    this.#attempt = undefined;
    this.#ladder.stop();
    this.#turn(state, error);
    await this.client.close();
  }

  /** For good. */
  async close(): Promise<void> {
    await Promise.all([this.#member.catalogue.close(), this.letGo()]);
  }

  /** Nothing is sent to a server that is disconnected, or after all were closed. */
  throwIfOff(tool?: string): void {
    this.#parts.closed.throwIfCancelled();
    if (!this.isOff) return;
    const text = `Server "${this.name}" is disconnected: nothing is sent to it before it is connected again.`;
    throw new McpRuntimeError("not-sent", text, { server: this.name, tool });
  }

  async #tryOnce(): Promise<void> {
    const chapter = this.#chapter;
    this.#ladder.stop();
    this.#turn("connecting", undefined);
    try {
      await this.#open(chapter);
      this.#throwIfPast(chapter);
      this.#attempt = undefined;
      this.#turn("connected", undefined);
    } catch (error) {
      if (chapter === this.#chapter) {
        this.#attempt = undefined;
        this.#turn("failed", toFailure(error));
      }
      throw error;
    }
  }

  async #open(chapter: number): Promise<void> {
    if (this.#parts.isListed) {
      // From a store at once, else from the server, with the repetitions of any request.
      const tools = await this.#member.catalogue.list();
      this.#throwIfPast(chapter);
      this.#known.take(tools);
    }
    await this.client.ensureSession();
  }

  /** Let go in between: opening more now would open what nobody closes. */
  #throwIfPast(chapter: number): void {
    this.throwIfOff();
    if (chapter !== this.#chapter) throw new McpRuntimeError("cancelled", "Given up.", { server: this.name });
  }

  #hear(client: McpClient): void {
    client.on("sessionOpened", () => this.#onOpened());
    client.on("connectionLost", ({ identity }) => {
      if (this.#state === "connected" && identity === this.#ownIdentity()) this.#onLost();
    });
  }

  /** Somebody's call opened it, or the ladder. */
  #onOpened(): void {
    if (this.#attempt !== undefined || this.isOff || this.#state === "connected") return;
    // What comes back may not be what went.
    if (this.#state === "reconnecting") this.#member.catalogue.invalidate();
    this.#ladder.stop();
    this.#turn("connected", undefined);
    if (this.isListed) this.#member.catalogue.list().then((tools) => this.#known.take(tools), ignore);
  }

  #onLost(): void {
    const { name: server } = this;
    const lost = (text: string) => new McpRuntimeError("connection-lost", text, { server });
    if (this.#ladder.begin()) {
      this.#turn("reconnecting", lost(`The connection to server "${server}" was lost.`));
      return;
    }
    const text = `Server "${server}" loses its connection again and again; it is left alone until a call or reconnect().`;
    this.#turn("failed", lost(text));
  }

  #turn(state: ServerState, error: McpRuntimeError | undefined): void {
    if (this.#state === state && this.#error === error) return;
    this.#state = state;
    this.#error = error;
    this.#since = Date.now();
    this.#parts.onChange({ state, error });
  }

  /** Whose tools these are where users are told apart: nobody's in particular. */
  #ownIdentity(): string | undefined {
    try {
      return this.client.identityOf({});
    } catch {
      return undefined;
    }
  }
}

const OFF: ServerMoment = { state: "disconnected", error: undefined };
const SETTLED_AS: Partial<Record<ServerState, ServerState>> = { connecting: "idle", reconnecting: "failed" };
const MAY_OPEN_BY_ITSELF: ReadonlySet<ServerState> = new Set(["idle", "failed"]);

function ignore(): void {
  // What the client and the catalogue have told is enough.
}
