import type { FailureKind } from "../errors/failure-kinds.js";
import type { BreakerState } from "../policies/circuit-breaker.js";
import type { Redactor } from "../errors/redaction.js";
import type { ServerNotification } from "../session/session.js";
import { EventHub, type ListenOptions } from "../telemetry/event-hub.js";
import type { Logger } from "../telemetry/logger.js";
import type { RequestEnded } from "./observe-link.js";

export interface RequestRetried {
  readonly requestId: string;
  readonly server: string;
  readonly method: string;
  readonly tool: string | undefined;
  readonly attempts: number;
  readonly kind: FailureKind;
  readonly waitMs: number;
}

export interface McpClientEvents {
  /** A session can be used: after a handshake, or without one if it was resumed. The first has generation 1. */
  sessionOpened: {
    readonly identity: string;
    readonly id: string | undefined;
    readonly generation: number;
    readonly isResumed: boolean;
  };
  /** The server forgot a session. */
  sessionLost: { readonly identity: string; readonly id: string | undefined; readonly generation: number };
  /** The connection below a session went by itself: a program ended, a stream broke. The next request opens another. */
  connectionLost: { readonly identity: string; readonly generation: number };
  requestEnded: RequestEnded;
  /** A request failed and is sent again after `waitMs`. */
  requestRetried: RequestRetried;
  /** The server is left alone, tried again, or taken back. */
  breakerChanged: { readonly identity: string; readonly state: BreakerState };
  /** A notification of the server that nothing else takes. */
  notification: ServerNotification;
  /** The server says that its list of tools is another one now. */
  toolsChanged: { readonly server: string };
  /** The server says that its list of resources, or of templates, is another one now. */
  resourcesChanged: { readonly server: string };
  /** The server says that its list of prompts is another one now. */
  promptsChanged: { readonly server: string };
  /**
   * A resource that was subscribed to is another one now; or it may be: after a lost session, nobody
   * knows what was missed.
   */
  resourceUpdated: { readonly server: string; readonly identity: string; readonly uri: string };
  /** Something went wrong that costs nobody a call. */
  warning: { readonly message: string };
}

/** Events that only come when the server may speak unasked. */
const SPOKEN_BY_SERVER = [
  "notification",
  "toolsChanged",
  "resourcesChanged",
  "promptsChanged",
  "resourceUpdated",
] as const;

const LIST_CHANGES: ReadonlyMap<string, "toolsChanged" | "resourcesChanged" | "promptsChanged"> = new Map([
  ["notifications/tools/list_changed", "toolsChanged"],
  ["notifications/resources/list_changed", "resourcesChanged"],
  ["notifications/prompts/list_changed", "promptsChanged"],
]);

/** The events of one client; warnings also go to the logger. */
export class ClientEvents {
  readonly #hub: EventHub<McpClientEvents>;
  readonly #logger: Logger;
  readonly #server: string;
  readonly #redactor: Redactor;

  constructor(server: string, logger: Logger, redactor: Redactor) {
    this.#server = server;
    this.#logger = logger;
    this.#redactor = redactor;
    this.#hub = new EventHub((error) =>
      this.#log("error", redactor.text(`A listener of server "${server}" failed: ${String(error)}`)),
    );
  }

  get isServerHeard(): boolean {
    return SPOKEN_BY_SERVER.some((name) => this.#hub.isWanted(name));
  }

  on<Name extends keyof McpClientEvents>(
    name: Name,
    listener: (event: McpClientEvents[Name]) => void,
    options?: ListenOptions,
  ): () => void {
    return this.#hub.on(name, listener, options);
  }

  emit<Name extends keyof McpClientEvents>(name: Name, event: McpClientEvents[Name]): void {
    this.#hub.emit(name, event);
  }

  warn(text: string): void {
    const message = this.#redactor.text(text);
    this.#log("warn", message);
    this.#hub.emit("warning", { message });
  }

  info(text: string): void {
    this.#log("info", this.#redactor.text(text));
  }

  debug(text: string): void {
    this.#log("debug", this.#redactor.text(text));
  }

  notify(notification: ServerNotification, identity: string): void {
    const { method, params } = notification;
    this.#hub.emit("notification", notification);
    const change = LIST_CHANGES.get(method);
    if (change !== undefined) this.#hub.emit(change, { server: this.#server });
    if (method === "notifications/resources/updated" && typeof params["uri"] === "string")
      this.updated(identity, params["uri"]);
  }

  updated(identity: string, uri: string): void {
    this.#hub.emit("resourceUpdated", { server: this.#server, identity, uri });
  }

  /** A logger is somebody's code: when it throws, a call must not. */
  #log(level: keyof Logger, message: string): void {
    try {
      this.#logger[level](message);
    } catch {
      // There is nobody left to tell.
    }
  }
}
