import type { Clock } from "../async/clock.js";
import type { MessageTransport } from "../config/message-transport.js";
import type { Redactor } from "../errors/redaction.js";
import type { ServerLog } from "../telemetry/server-log.js";
import type { Credentials } from "../auth/credentials.js";
import type { ClientKeys } from "../auth/dpop.js";

/** What a client opens once: it gives a fresh transport for each session and owns what they share. */
export interface TransportFactory {
  /** `resumed` goes on with a session that is open already, where transports can. */
  openTransport(
    credentials: Credentials | undefined,
    resumed: ResumedSession | undefined,
  ): Promise<MessageTransport>;
  /** The credentials of one identity, where requests carry any that are not the same for everybody. */
  createCredentials?: (() => Credentials) | undefined;
  close(): Promise<void>;
}

export interface ResumedSession {
  readonly id: string;
  readonly protocolVersion: string | undefined;
}

export interface SourceParts {
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly keys: ClientKeys;
}
