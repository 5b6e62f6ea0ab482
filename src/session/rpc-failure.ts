import { adviceForCode, kindOfFailure } from "../errors/kind-of-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/server-text.js";

export interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
  /** What was asked for. */
  readonly method?: string | undefined;
}

/** The server's answer to a request is an error. */
export function toRpcFailure(
  { code, message }: { readonly code: number; readonly message: string },
  { server, redactor, method }: ErrorContext,
  cause?: unknown,
): McpRuntimeError {
  const said = quoteServer(redactor.text(message));
  const advice = adviceForCode(code);
  return new McpRuntimeError(
    kindOfFailure({ code, readsResource: method === "resources/read" }),
    `Server "${server}" answered with error ${code}: ${said}${advice === "" ? "" : ` ${advice}`}`,
    {
      server,
      code,
      ...(cause === undefined ? {} : { cause: redactor.cause(cause) }),
    },
  );
}
