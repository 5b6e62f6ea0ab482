import { type Channel, channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { suggestMatch } from "../errors/find-closest-match.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { isPromiseLike } from "../json/json.js";

/** The prefix of all channel names: `langchain-mcp-runtime:requestEnded`. */
const PREFIX = "langchain-mcp-runtime:";

/** Diagnostics channels by event name. */
type EventChannels<Events extends object> = Partial<Record<keyof Events, Channel>>;

/** Hold the channels while publishing: a collected channel does not see later subscribers. */
export function createChannels<Events extends object>(names: readonly (keyof Events & string)[]) {
  return Object.fromEntries(
    names.map((name) => [name, channel(`${PREFIX}${name}`)]),
  ) as EventChannels<Events>;
}

/**
 * Subscribes to a channel. Returns the unsubscribe function. Node terminates the process when a channel
 * subscriber throws; here the error becomes a process warning.
 */
export function subscribeSafely(name: string, listener: (message: unknown) => unknown): () => void {
  const warnListenerFailed = (error: unknown) =>
    process.emitWarning(`A listener to ${PREFIX}${name} failed: ${printValue(error)}`, "McpRuntimeWarning");
  const onMessage = (message: unknown) => callListener(listener, message, warnListenerFailed);
  subscribe(`${PREFIX}${name}`, onMessage);
  return () => void unsubscribe(`${PREFIX}${name}`, onMessage);
}

/** Calls a listener and reports what it throws or rejects with. */
function callListener<Event>(
  listener: (event: Event) => unknown,
  event: Event,
  onError: (error: unknown) => void,
): void {
  try {
    const result = listener(event);
    if (isPromiseLike(result)) void Promise.resolve(result).catch(onError);
  } catch (error) {
    onError(error);
  }
}

interface Registration {
  readonly listener: (event: never) => unknown;
  readonly isPassive: boolean;
}

export interface ListenOptions {
  /** Receives events, but does not count as an active subscriber for which events have to be produced. */
  readonly passive?: boolean | undefined;
}

/**
 * Emits typed events to its listeners and to diagnostics channels. A listener that throws does not affect the
 * emitter or other listeners.
 */
export class TypedEmitter<Events extends object> {
  /** Each registration is a separate object, because one function may be registered twice. */
  readonly #registrations = new Map<keyof Events, Set<Registration>>();
  readonly #onListenerError: (error: unknown) => void;
  readonly #channels: EventChannels<Events>;

  /** `onListenerError` must not throw. */
  constructor(onListenerError: (error: unknown) => void, channels: EventChannels<Events> = {}) {
    this.#channels = channels;
    this.#onListenerError = onListenerError;
  }

  /** Adds a listener. Returns the unsubscribe function. */
  on<Name extends keyof Events>(
    name: Name,
    listener: (event: Events[Name]) => unknown,
    { passive: isPassive = false }: ListenOptions = {},
  ): () => void {
    const registrations = this.#registrations.get(name) ?? new Set<Registration>();
    this.#registrations.set(name, registrations);
    const registration = { listener, isPassive };
    registrations.add(registration);
    return () => registrations.delete(registration);
  }

  /** Check this before creating an event that is expensive to create. */
  hasListeners(name: keyof Events): boolean {
    return (this.#registrations.get(name)?.size ?? 0) > 0 || this.#channels[name]?.hasSubscribers === true;
  }

  /** Whether the event has a listener that is not passive. */
  hasActiveSubscribers(name: keyof Events): boolean {
    return [...(this.#registrations.get(name) ?? [])].some(({ isPassive }) => !isPassive);
  }

  /** Notifies the current listeners. A listener added during the emit receives only later events. */
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const registrations = Array.from(this.#registrations.get(name) ?? []);
    for (const { listener } of registrations)
      callListener(listener as (event: Events[Name]) => unknown, event, this.#onListenerError);
    this.#channels[name]?.publish(event);
  }
}

/** Throws `invalid-config` for an unknown event name or a listener that is not a function. */
export function assertListener(name: unknown, listener: unknown, names: readonly string[]): void {
  if (!names.includes(name as string))
    throw new McpRuntimeError(
      "invalid-config",
      `Unknown event "${printValue(name)}"; valid events: ${names.join(", ")}.${suggestMatch(printValue(name), names)}`,
    );
  if (typeof listener !== "function")
    throw new McpRuntimeError("invalid-config", `The listener for "${printValue(name)}" must be a function.`);
}
