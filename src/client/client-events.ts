import { checkObject } from "../config/assert-object.js";
import type { Redactor } from "../errors/redaction.js";
import type { ServerNotification } from "../session/session.js";
import { checkListener } from "../telemetry/assert-listener.js";
import { openChannels } from "../telemetry/event-channels.js";
import { type Audience, TypedEmitter, type ListenOptions } from "../telemetry/typed-emitter.js";
import type { Logger } from "../telemetry/logger.js";
import type { WarningCode } from "../telemetry/server-log.js";
import { hasLine, lineOf } from "./log-lines.js";
import type { McpClientEvents } from "./mcp-client-events.js";

/** Events that are also told on a channel of the process. What a server says stays with its client. */
export const CLIENT_CHANNELS = openChannels<McpClientEvents>([
  "requestStarted",
  "requestRetried",
  "requestEnded",
  "handshakeStarted",
  "handshakeEnded",
  "sessionOpened",
  "sessionLost",
  "connectionLost",
  "sessionEnded",
  "breakerChanged",
  "warning",
]);

/** Events that only come when the server may speak unasked. */
const SPOKEN_BY_SERVER = [
  "notification",
  "toolsChanged",
  "resourcesChanged",
  "promptsChanged",
  "resourceUpdated",
] as const;

/** They stay with their client: on no channel is it told what a server says. */
export type SpokenByServer = (typeof SPOKEN_BY_SERVER)[number];

/** All of them, by name. */
export const CLIENT_EVENTS: readonly string[] = [
  ...Object.keys(CLIENT_CHANNELS),
  ...SPOKEN_BY_SERVER,
].toSorted();

const LIST_CHANGES: ReadonlyMap<string, "toolsChanged" | "resourcesChanged" | "promptsChanged"> = new Map([
  ["notifications/tools/list_changed", "toolsChanged"],
  ["notifications/resources/list_changed", "resourcesChanged"],
  ["notifications/prompts/list_changed", "promptsChanged"],
]);

/** The events of one client; warnings also go to the logger. */
export class ClientEvents {
  readonly #hub: TypedEmitter<McpClientEvents>;
  readonly #logger: Logger;
  readonly #server: string;
  readonly #redactor: Redactor;

  constructor(server: string, logger: Logger, redactor: Redactor) {
    this.#server = server;
    this.#logger = logger;
    this.#redactor = redactor;
    this.#hub = new TypedEmitter(
      (error) =>
        this.#log("error", redactor.text(`A listener of server "${server}" failed: ${String(error)}`)),
      CLIENT_CHANNELS,
    );
  }

  get isServerHeard(): boolean {
    return SPOKEN_BY_SERVER.some((name) => this.#hub.isWanted(name));
  }

  on<Name extends keyof McpClientEvents>(
    name: Name,
    listener: (event: McpClientEvents[Name]) => void,
    options: ListenOptions = {},
  ): () => void {
    checkListener(name, listener, CLIENT_EVENTS);
    checkObject(options, { subject: "The listener", path: "options", server: this.#server });
    return this.#hub.on(name, listener, options);
  }

  /** Whoever would hear of it, the log included. */
  audienceOf(name: keyof McpClientEvents): Audience {
    return this.#hub.audienceOf(name, hasLine(name) ? () => this.#isLogged() : undefined);
  }

  emit<Name extends keyof McpClientEvents>(name: Name, event: McpClientEvents[Name]): void {
    this.#hub.emit(name, event);
    if (!hasLine(name) || !this.#isLogged()) return;
    const line = lineOf(name, event);
    if (line !== undefined) this.debug(line);
  }

  warn(text: string, code?: WarningCode): void {
    const message = this.#redactor.text(text);
    this.#log("warn", message);
    this.#hub.emit("warning", { server: this.#server, message, ...(code === undefined ? {} : { code }) });
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

  /** A logger that says so gets a line for every request. */
  #isLogged(): boolean {
    try {
      return this.#logger.isDebugEnabled?.() === true;
    } catch {
      return false;
    }
  }

  /** A logger is somebody's code: when it throws, a call must not. */
  #log(level: Exclude<keyof Logger, "isDebugEnabled">, message: string): void {
    try {
      this.#logger[level](message);
    } catch {
      // There is nobody left to tell.
    }
  }
}
