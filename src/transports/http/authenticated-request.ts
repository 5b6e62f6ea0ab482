import type { Clock } from "../../async/clock.js";
import type { CallContext } from "../../config/call-context.js";
import { BeginningReader } from "./body-readers.js";
import type { Credentials, Proof } from "../../auth/credentials.js";
import type {
  BodyReader,
  HttpRequestHandler,
  HttpExchangeEvents,
  ResponseHead,
  ResponseHeaders,
} from "../../net/http-request.js";
import { Refusals } from "../../auth/auth-challenge.js";

interface ProvenSendingParts {
  readonly credentials: Credentials;
  readonly context: CallContext | undefined;
  readonly exchange: HttpRequestHandler;
  readonly events: HttpExchangeEvents;
  readonly clock: Clock;
  /** Sends the request with this proof. */
  readonly send: (proof: Proof) => void;
}

/**
 * One HTTP request with credentials. A server that refuses it has not run it: where other credentials
 * can be had, it is sent once more, and the refusal is never heard of.
 */
export class ProvenSending {
  readonly #parts: ProvenSendingParts;
  readonly #refusals = new Refusals();
  #proof: Proof | undefined;

  constructor(parts: ProvenSendingParts) {
    this.#parts = parts;
  }

  start(): void {
    const { credentials, context } = this.#parts;
    void this.#sendWith(() => credentials.proof(context));
  }

  /** Who reads the body of a response that is perhaps not the last word; `undefined` if it is. */
  readRefusal(status: number, headers: ResponseHeaders): BodyReader | undefined {
    this.#parts.credentials.heard(headers);
    const used = this.#proof;
    if (used === undefined) return undefined;
    const refusal = { status, headers };
    const reason = this.#refusals.reasonOf(refusal, used);
    if (reason === undefined) return undefined;
    return new BeginningReader(this.#parts.clock, (body) => {
      const { credentials, context, exchange } = this.#parts;
      exchange.abandon();
      void this.#sendWith(
        () => credentials.renewed(used, { refusal, reason }, context),
        () => this.#deliver(refusal, body),
      );
    });
  }

  async #sendWith(getProof: () => Promise<Proof | undefined>, withoutProof?: () => void): Promise<void> {
    const { exchange, events, send } = this.#parts;
    try {
      const proof = await getProof();
      if (exchange.isStopped) return;
      if (proof === undefined) {
        withoutProof?.();
        return;
      }
      this.#proof = proof;
      send(proof);
    } catch (error) {
      if (!exchange.isStopped) events.onBroken(error as Error);
    }
  }

  /** The refusal was the last word after all. */
  #deliver({ status, headers }: ResponseHead, body: string): void {
    const reader = this.#parts.events.onHead(status, headers);
    reader.data(Buffer.from(body));
    reader.end();
  }
}
