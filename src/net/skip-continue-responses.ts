import type { Socket } from "node:net";

/** `HTTP/1.1 100`, with its headers, which are rare, up to the empty line. */
const CONTINUE_RESPONSE = /^HTTP\/1\.1 100(?: [^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n/;
const STATUS_PREFIX = "HTTP/1.1 100";
const STATUS_OFFSET = 9;
const DIGIT_ONE = 0x31;
/** A longer response is left to undici, which rejects it. */
const MAX_CONTINUE_BYTES = 4_096;

/**
 * Removes `100 Continue` responses from what is read from a socket. Servers may send one although the request has no
 * `Expect` header, and clients have to ignore it (RFC 9110, 15.2.1), but undici destroys the socket. Needs one request at
 * a time on the socket: only what comes first after a request can be an interim response, not what comes in a body.
 */
export function skipContinueResponses(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isAwaitingResponse = false;
  /** The beginning of what may be such a response. */
  let held: Buffer | undefined;

  socket.write = (...args: unknown[]): boolean => {
    isAwaitingResponse = true;
    return write(...args);
  };
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size);
      if (!isAwaitingResponse || chunk === null) return chunk;
      const received: Buffer = held === undefined ? chunk : Buffer.concat([held, chunk]);
      held = undefined;
      const remaining = withoutContinue(received);
      if (remaining === undefined) held = received;
      else if (remaining.length > 0) {
        isAwaitingResponse = false;
        return remaining;
      }
    }
  };
}

/** Returns the bytes after all `100 Continue` responses; `undefined` if the last one is not complete. */
function withoutContinue(received: Buffer): Buffer | undefined {
  let bytes = received;
  for (;;) {
    if (bytes.length > STATUS_OFFSET && bytes[STATUS_OFFSET] !== DIGIT_ONE) return bytes;
    const head = bytes.toString("latin1", 0, MAX_CONTINUE_BYTES);
    const isPrefix = head.startsWith(STATUS_PREFIX) || STATUS_PREFIX.startsWith(head);
    if (bytes.length === 0 || !isPrefix) return bytes;
    const [response] = CONTINUE_RESPONSE.exec(head) ?? [];
    if (response === undefined) return head.length < MAX_CONTINUE_BYTES ? undefined : bytes;
    bytes = bytes.subarray(response.length);
  }
}
