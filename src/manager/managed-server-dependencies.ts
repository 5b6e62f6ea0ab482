import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ServerState } from "./server-status.js";

export interface ManagedServerParts {
  readonly name: string;
  readonly isLazy: boolean;
  readonly isOptional: boolean;
  /** On another machine. */
  readonly isRemote: boolean;
  /** Whether its tools are found out by listing; else somebody else knows them. */
  readonly isListed: boolean;
  readonly clock: Clock;
  /** Cancelled when all servers are closed. */
  readonly closed: CancelScope;
  readonly onChange: (moment: ServerMoment) => void;
  readonly onToolsChange: () => void;
}

/** What a server is, to be restored. */
export interface ServerMoment {
  readonly state: ServerState;
  readonly error: McpRuntimeError | undefined;
}
