import { Client } from "@modelcontextprotocol/client";
import type { CancelScope } from "../async/cancel-scope.js";
import { CLIENT_INFO } from "../config/client-info.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { JsonRpcMessage, MessageTransport } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import { toCapabilities } from "./client-capabilities.js";
import type { ModernRpc } from "./modern-rpc.js";
import type { OpeningOptions } from "./session-options.js";
import type { ServerMetadata } from "./session.js";
import { toServerFacts } from "./to-server-metadata.js";

/** Our deadlines rule; the SDK's own are set out of reach. */
const NO_SDK_TIMEOUT = { timeout: 2 ** 31 - 1 } as const;

/**
 * Asks a server without sessions what it is. A fresh client of the SDK's second line does: it writes
 * the question, asks again in a version that the server offers instead, and never shakes hands.
 *
 * It has not the last word, though. It takes a server whose answer has one odd field for one with
 * sessions, and keeps nothing of what it does not know: so the answer is read as it came.
 */
export async function discoverServer(
  exchange: ModernRpc,
  cancellation: CancelScope,
  options: OpeningOptions,
): Promise<ServerMetadata> {
  const line = new GreetingLine({ exchange, cancellation, greetingMeta: options.greetingMeta });
  const asking = createSdkClient(options).connect(line, NO_SDK_TIMEOUT);
  const refused = asking.then(
    () => undefined,
    (error: unknown) => toFailure(error, options),
  );
  try {
    // An answer that the SDK overlooks, it would wait for.
    const failure = await cancellation.race(Promise.race([refused, line.answered]));
    if (line.result === undefined) throw line.failure ?? failure;
    return toServerFacts(line.result, options);
  } finally {
    line.end();
  }
}

/** The SDK's own reason, where the server has said nothing. */
function toFailure(error: unknown, { server, redactor }: OpeningOptions): McpRuntimeError {
  const text = `Server "${server}" could not be asked what it is: ${redactor.text(String(error))}`;
  return new McpRuntimeError("invalid-response", text, { server, cause: redactor.cause(error) });
}

function createSdkClient({ handlers }: OpeningOptions): Client {
  return new Client(CLIENT_INFO, {
    capabilities: toCapabilities(handlers),
    versionNegotiation: { mode: { pin: MODERN_VERSION } },
  });
}

interface GreetingLineOptions {
  readonly exchange: ModernRpc;
  readonly cancellation: CancelScope;
  readonly greetingMeta: JsonObject;
}

/**
 * The transport as the SDK's client sees it. Its question takes the way of every request, and the
 * answer comes to it in a form that it does not overlook: it would wait for another one.
 */
class GreetingLine implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  /** The answer; without one, why there is none. */
  result: JsonObject | undefined;
  failure: unknown;
  /** Done as soon as there is a result. */
  readonly answered: Promise<undefined>;
  #answer: (() => void) | undefined;
  readonly #options: GreetingLineOptions;

  constructor(options: GreetingLineOptions) {
    this.#options = options;
    this.answered = new Promise((resolve) => {
      this.#answer = () => resolve(undefined);
    });
  }

  /** The transport below has been started, and is closed by who opened it. */
  async start(): Promise<void> {}
  async close(): Promise<void> {}

  /** Whatever the SDK still waits for, it waits in vain. */
  end(): void {
    this.onclose?.();
  }

  async send({ id, method = "", params = {} }: JsonRpcMessage): Promise<void> {
    // The greeting is a question; what else the SDK has to say is not for the server.
    if (id === undefined) return;
    const { exchange, cancellation, greetingMeta } = this.#options;
    const own = isPlainObject(params["_meta"]) ? params["_meta"] : {};
    const said = { ...params, _meta: { ...greetingMeta, ...own } };
    try {
      this.result = await exchange.request({ method, params: said, cancellation });
    } catch (failure) {
      this.failure = failure;
      if (!isRefusedVersion(failure)) throw failure;
      this.onmessage?.(toRefusal(id, failure));
      return;
    }
    const { _meta: _, ...result } = this.result;
    this.onmessage?.({ jsonrpc: "2.0", id, result });
    this.#answer?.();
  }
}

type RefusedVersion = McpRuntimeError & { readonly code: number };

function isRefusedVersion(failure: unknown): failure is RefusedVersion {
  return (
    failure instanceof McpRuntimeError &&
    failure.kind === "unsupported-protocol" &&
    failure.code !== undefined
  );
}

/**
 * Who refuses the version names others, and is to be asked once more: ours may be among them. A
 * failure of HTTP does not keep what was named.
 */
function toRefusal(id: JsonRpcMessage["id"], { code, message }: RefusedVersion): JsonRpcMessage {
  const data = { supported: [MODERN_VERSION], requested: MODERN_VERSION };
  return { jsonrpc: "2.0", id, error: { code, message, data } };
}
