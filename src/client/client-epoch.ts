import { CancelScope } from "../async/cancel-scope.js";
import type { Connection } from "../session/connection.js";
import { InFlightCalls } from "./in-flight-calls.js";
import type { SessionWatch } from "./session-events.js";

/** What is open between two times of `close()`. */
export class ClientChapter {
  readonly calls = new InFlightCalls();
  readonly sessions: SessionWatch;
  /** Ends whatever is being opened. */
  readonly closed = new CancelScope();
  opening: Promise<Connection> | undefined;
  connection: Connection | undefined;
  ending: Promise<void> | undefined;

  constructor(watch: (chapter: ClientChapter) => SessionWatch) {
    this.sessions = watch(this);
  }

  /** The connection, if it is there and not about to go. */
  get ready(): Connection | undefined {
    return this.closed.isCancelled ? undefined : this.connection;
  }
}
