import type { Socket } from "node:net";

/** What Node writes at once from a text; above it, a text costs a copy more. */
const MOST_BYTES = 16_384;

type Pieces = Parameters<NonNullable<Socket["_writev"]>>[0];

/**
 * Joins the head and the body of a small request, which undici writes as two pieces: Node hands one
 * text to the system directly, and for two pieces makes a list, an object to wait with and two buffers,
 * which is up to 2 % of a local call.
 */
export function joinSmallWrites(socket: Socket): void {
  const writePieces = socket._writev?.bind(socket);
  socket._writev = (pieces, done) => {
    const text = joined(pieces);
    if (text === undefined) writePieces?.(pieces, done);
    else socket._write(text, "latin1", done);
  };
}

/** In latin1 a byte is a character, so bytes of any encoding come through as they are. */
function joined(pieces: Pieces): string | undefined {
  const [head, body] = pieces;
  if (pieces.length !== 2 || head?.encoding !== "latin1" || !Buffer.isBuffer(body?.chunk)) return undefined;
  const text: unknown = head.chunk;
  if (typeof text !== "string" || text.length + body.chunk.length > MOST_BYTES) return undefined;
  return text + body.chunk.toString("latin1");
}
