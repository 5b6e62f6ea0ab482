import { isPlainObject, type JsonObject } from "../../json/json.js";
import { type FailureContext, toStatusFailure } from "../http/http-errors.js";
import { malformedAnswer } from "../json-rpc.js";

/** What a function returns that was written for API Gateway. */
interface GatewayAnswer {
  readonly statusCode: number;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly isBase64Encoded?: unknown;
}

/**
 * The messages in what a function returned: JSON-RPC as it is, or in the `body` of an answer for API
 * Gateway. Throws the failure that it stands for when it holds none.
 */
export function messagesOf(payload: string, context: FailureContext): unknown[] {
  const returned = parsed(payload, context);
  const value = isGatewayAnswer(returned) ? parsed(bodyOf(returned, context), context) : returned;
  return Array.isArray(value) ? value : [value];
}

function isGatewayAnswer(value: unknown): value is JsonObject & GatewayAnswer {
  return isPlainObject(value) && typeof value["statusCode"] === "number" && value["jsonrpc"] === undefined;
}

function bodyOf(answer: GatewayAnswer, context: FailureContext): unknown {
  const { statusCode: status, isBase64Encoded } = answer;
  const isEncoded = isBase64Encoded === true && typeof answer.body === "string";
  const body = isEncoded ? Buffer.from(answer.body, "base64").toString("utf8") : answer.body;
  if (status >= 200 && status < 300) return body;
  const text = typeof body === "string" ? body : JSON.stringify(body ?? "");
  throw toStatusFailure({ status, headers: headersOf(answer), body: text, hadSession: false }, context);
}

function headersOf({ headers }: GatewayAnswer): Record<string, string> {
  const entries = isPlainObject(headers) ? Object.entries(headers) : [];
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

/** Functions that return a text mean the JSON in it, so what was a text is looked into once more. */
function parsed(value: unknown, context: FailureContext): unknown {
  if (typeof value !== "string") return value;
  if (value === "") throw malformedAnswer(context, "it is empty");
  try {
    const inner: unknown = JSON.parse(value);
    return typeof inner === "string" ? JSON.parse(inner) : inner;
  } catch {
    throw malformedAnswer(context, "it is broken JSON");
  }
}
