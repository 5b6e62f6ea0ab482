import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { withDeadline } from "../async/deadline.js";
import { mapLimited } from "../async/map-concurrent.js";
import type { JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Session } from "../session/session.js";
import type { LogLevel } from "./log-level.js";
import { ResourceSubscriptions } from "./resource-subscriptions.js";

interface TellOptions {
  readonly server: string;
  readonly identity: string;
  readonly ms: number;
  readonly clock: Clock;
  readonly cancellation: CancelScope;
  readonly warn: (message: string) => void;
}

interface Wish {
  readonly method: string;
  readonly params: JsonObject;
  /** For a warning. */
  readonly what: string;
}

/** How many are told at the same time. */
const CONCURRENCY = 8;
const MOST_WARNINGS = 5;

/** What a server was asked for once and every new session of it has to be asked for again. */
export class SessionWishes {
  logLevel: LogLevel | undefined;
  readonly resources = new ResourceSubscriptions();

  /**
   * Tells a new session, before anybody uses it. In the words of the protocol's first era; a session
   * of another one takes them and does what they mean. What it refuses costs a warning. Never rejects:
   * the session is open, and somebody has to close it.
   */
  async tell(session: Session, options: TellOptions): Promise<void> {
    const wishes = this.#wishesOf(options.identity);
    if (wishes.length === 0) return;
    const { server, ms, clock, cancellation, warn } = options;
    const expired = () => new McpRuntimeError("timeout", "It did not answer in time.", { server });
    const problems = await withDeadline({ ms, clock, cancellation, expired }, (limited) =>
      mapLimited(wishes, CONCURRENCY, (wish) => tellOne(session, wish, limited)),
    );
    // A client that is being closed has no wishes.
    if (cancellation.isCancelled) return;
    const refused = problems.filter((problem) => problem !== undefined);
    for (const problem of refused.slice(0, MOST_WARNINGS)) warn(`Server "${server}" did not take ${problem}`);
    const more = refused.length - MOST_WARNINGS;
    if (more > 0) warn(`Server "${server}" did not take ${more} more wishes again.`);
  }

  #wishesOf(identity: string): Wish[] {
    const { logLevel: level } = this;
    const subscriptions = this.resources.urisOf(identity).map((uri) => ({
      method: "resources/subscribe",
      params: { uri },
      what: `the subscription to ${uri}`,
    }));
    if (level === undefined) return subscriptions;
    return [
      { method: "logging/setLevel", params: { level }, what: `log level "${level}"` },
      ...subscriptions,
    ];
  }
}

/** What went wrong, if somebody should know. */
async function tellOne(
  session: Session,
  { method, params, what }: Wish,
  cancellation: CancelScope,
): Promise<string | undefined> {
  try {
    await session.request({ method, params, cancellation });
    return undefined;
  } catch (error) {
    // A stored session may be long gone: whoever uses it finds out, and the next one is told.
    if (error instanceof McpRuntimeError && error.kind === "session-lost") return undefined;
    return `${what} again: ${String(error)}`;
  }
}
