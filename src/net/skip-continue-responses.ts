import type { Socket } from "node:net";

/** The status of an interim response: 1xx, except for 101, after which the connection is no longer HTTP. */
const INTERIM_STATUS = /^HTTP\/1\.1 1(?!01)\d\d[ \r]$/;
const STATUS_PREFIX = "HTTP/1.1 1";
const STATUS_LENGTH = 13;
/** Where the first digit of the status is. */
const FIRST_DIGIT = STATUS_PREFIX.length - 1;
const DIGIT_ONE = 0x31;
const HEAD_END = "\r\n\r\n";
/** A longer response is left to undici, which rejects it. */
const MAX_INTERIM_BYTES = 4_096;

/**
 * Removes interim responses, such as `100 Continue`, from what is read from a socket. Servers may send them although the
 * request has no `Expect` header, and clients have to ignore them (RFC 9110, 15.2), but undici destroys the socket. Needs
 * one request at a time on the socket: only what comes first after a request can be one, not what comes in a body.
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
      if (received.length > FIRST_DIGIT && received[FIRST_DIGIT] !== DIGIT_ONE) {
        held = undefined;
        isAwaitingResponse = false;
        return received;
      }
      const remaining = withoutInterim(received);
      held = isIncomplete(remaining) ? remaining : undefined;
      if (held !== undefined) continue;
      isAwaitingResponse = false;
      return remaining;
    }
  };
}

/** Returns the bytes after all complete interim responses. */
function withoutInterim(received: Buffer): Buffer {
  let bytes = received;
  while (INTERIM_STATUS.test(bytes.toString("latin1", 0, STATUS_LENGTH))) {
    const end = bytes.subarray(0, MAX_INTERIM_BYTES).indexOf(HEAD_END);
    if (end === -1) break;
    bytes = bytes.subarray(end + HEAD_END.length);
  }
  return bytes;
}

/** Whether these may be the first bytes of an interim response, or there are none. */
function isIncomplete(bytes: Buffer): boolean {
  const status = bytes.toString("latin1", 0, STATUS_LENGTH);
  if (status.length < STATUS_LENGTH) return STATUS_PREFIX.startsWith(status.slice(0, STATUS_PREFIX.length));
  return bytes.length < MAX_INTERIM_BYTES && INTERIM_STATUS.test(status);
}
