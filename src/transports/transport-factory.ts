import type { Clock } from "../async/clock.js";
import type { MessageTransport } from "../config/message-transport.js";
import type { Redactor } from "../errors/redaction.js";
import type { ServerLog } from "../telemetry/logger.js";
import type { Credentials } from "../auth/credentials.js";
import type { ClientKeys } from "../auth/dpop.js";

/** Opens a transport for each session of a client, and owns the resources that they share. */
export interface TransportFactory {
  /** @param resumed - An existing session to continue, if the transport supports it. */
  openTransport(
    credentials: Credentials | undefined,
    resumed: ResumedSession | undefined,
  ): Promise<MessageTransport>;
  /** Creates the credentials of one identity. Only set if the credentials depend on the identity. */
  createCredentials?: (() => Credentials) | undefined;
  close(): Promise<void>;
}

export interface ResumedSession {
  readonly id: string;
  readonly protocolVersion: string | undefined;
}

export interface TransportDependencies {
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly keys: ClientKeys;
}
