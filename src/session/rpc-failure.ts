import { adviceForCode, classifyFailure } from "../errors/classify-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/sanitize-text.js";

export interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
  /** What was asked for. */
  readonly method?: string | undefined;
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What the server said, as it said it. */
class ServerError extends Error {
  override readonly name = "ServerError";
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: RpcError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The server's answer to a request is an error. */
export function toRpcFailure(
  error: RpcError,
  { server, redactor, method }: ErrorContext,
  cause: unknown = new ServerError(error),
): McpRuntimeError {
  const { code, message } = error;
  const said = quoteServer(redactor.text(message));
  const advice = adviceForCode(code);
  return new McpRuntimeError(
    classifyFailure({ code, readsResource: method === "resources/read" }),
    `Server "${server}" answered with error ${code}: ${said}${advice === "" ? "" : ` ${advice}`}`,
    { server, code, cause: redactor.cause(cause) },
  );
}
