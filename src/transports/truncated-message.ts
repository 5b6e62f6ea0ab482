import type { RequestId } from "./json-rpc.js";

/** What a message was that could not be read. */
type UnreadMessage =
  | { readonly is: "answer"; readonly id: RequestId }
  /** An answer, and nobody can tell to what. */
  | { readonly is: "some answer" }
  /** A request or notification of the server. */
  | { readonly is: "call" }
  | { readonly is: "garbage" };

const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const ID = String.raw`"id"\s*:\s*(-?\d+|"[^"\\]*")`;
/** Nothing but these can stand before an id or a method that belongs to the message itself. */
const METHOD_FIRST = new RegExp(String.raw`^\{\s*(?:${VERSION}\s*,\s*)?(?:${ID}\s*,\s*)?"method"\s*:`);
const ID_FIRST = new RegExp(String.raw`^\{\s*(?:${VERSION}\s*,\s*)?${ID}\s*,`);
/** The last brace closes the message, so what stands right before it belongs to the message itself. */
const ID_LAST = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*${VERSION}\s*)?\}$`);

/** Tells by the beginning and the end of a message what it was: that is where servers put the id. */
export function sortUnread(head: string, tail: string): UnreadMessage {
  const beginning = head.trimStart();
  if (!/^[{[]/.test(beginning)) return { is: "garbage" };
  if (METHOD_FIRST.test(beginning)) return { is: "call" };
  const id = ID_FIRST.exec(beginning)?.[1] ?? ID_LAST.exec(tail.trimEnd())?.[1];
  return id === undefined ? { is: "some answer" } : { is: "answer", id: JSON.parse(id) as RequestId };
}
