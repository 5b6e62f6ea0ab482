import type { Channel } from "node:diagnostics_channel";
import type { EventChannels } from "./event-channels.js";

interface Registration {
  readonly listener: (event: never) => unknown;
  readonly isQuiet: boolean;
}

export interface ListenOptions {
  /** Hears what comes, and is no reason to make anything come. */
  readonly quiet?: boolean | undefined;
}

/** Whoever listens to one event, asked so often that nothing is looked up. */
export class Audience {
  readonly #listeners: ReadonlySet<unknown>;
  readonly #channel: Channel | undefined;
  readonly #isOtherThere: (() => boolean) | undefined;

  constructor(
    listeners: ReadonlySet<unknown>,
    channel: Channel | undefined,
    isOtherThere: (() => boolean) | undefined,
  ) {
    this.#listeners = listeners;
    this.#channel = channel;
    this.#isOtherThere = isOtherThere;
  }

  /** Whether anybody would hear it: an event that is costly to make is not made for nobody. */
  get isThere(): boolean {
    return (
      this.#listeners.size > 0 || this.#channel?.hasSubscribers === true || this.#isOtherThere?.() === true
    );
  }
}

/**
 * Typed events for whoever listens, here or on a channel of the process. A listener that throws harms
 * nobody but itself.
 */
export class TypedEmitter<Events extends object> {
  /** Each registration is an object of its own: one function may listen twice. */
  readonly #registrations = new Map<keyof Events, Set<Registration>>();
  readonly #onListenerError: (error: unknown) => void;
  readonly #channels: EventChannels<Events>;

  constructor(onListenerError: (error: unknown) => void, channels: EventChannels<Events> = {}) {
    this.#onListenerError = onListenerError;
    this.#channels = channels;
  }

  /** The function that comes back stops listening. */
  on<Name extends keyof Events>(
    name: Name,
    listener: (event: Events[Name]) => unknown,
    { quiet: isQuiet = false }: ListenOptions = {},
  ): () => void {
    const registrations = this.#registrationsFor(name);
    const registration = { listener, isQuiet };
    registrations.add(registration);
    return () => registrations.delete(registration);
  }

  /** Whoever listens to it, and somebody who is asked whether he does. */
  audienceOf(name: keyof Events, isOtherThere?: () => boolean): Audience {
    return new Audience(this.#registrationsFor(name), this.#channels[name], isOtherThere);
  }

  /** Whether somebody waits for it who is not quiet. */
  isWanted(name: keyof Events): boolean {
    return [...(this.#registrations.get(name) ?? [])].some(({ isQuiet }) => !isQuiet);
  }

  /** Told to those who listen now; who comes while it is told hears the next one. */
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const listeningNow = Array.from(this.#registrations.get(name) ?? []);
    for (const { listener } of listeningNow) {
      try {
        const returned = (listener as (event: Events[Name]) => unknown)(event);
        if (returned instanceof Promise) returned.catch((error: unknown) => this.#report(error));
      } catch (error) {
        this.#report(error);
      }
    }
    this.#channels[name]?.publish(event);
  }

  #registrationsFor(name: keyof Events): Set<Registration> {
    const known = this.#registrations.get(name);
    if (known !== undefined) return known;
    const registrations = new Set<Registration>();
    this.#registrations.set(name, registrations);
    return registrations;
  }

  #report(error: unknown): void {
    try {
      this.#onListenerError(error);
    } catch {
      // Whoever reports errors is the last one to have any.
    }
  }
}
