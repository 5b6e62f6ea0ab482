const EMPTY = Buffer.alloc(0);
/** A smaller chunk is copied: as a view, it would keep a whole buffer of the socket in memory. */
const MIN_VIEW_BYTES = 16 * 1024;
const MAX_BLOCK_BYTES = 64 * 1024;

const MAX_JOINED_BYTES = 2 * 1024 * 1024;
/** Where chunks are joined. Reused, because new memory costs more than the copy: its pages, and their collection. */
let joinedBytes: Buffer | undefined;

/** Returns all chunks in one buffer, which is valid until the next call. */
function joinChunks(chunks: readonly Buffer[], size: number): Buffer {
  if (size > MAX_JOINED_BYTES) return Buffer.concat(chunks, size);
  joinedBytes ??= Buffer.allocUnsafeSlow(MAX_JOINED_BYTES);
  let length = 0;
  for (const chunk of chunks) length += chunk.copy(joinedBytes, length);
  return joinedBytes.subarray(0, length);
}

/**
 * Collects chunks of bytes. Its memory is proportional to their size, even for a server that sends single bytes. The
 * first chunk is not copied: it is usually the only one.
 */
export class ChunkCollector {
  #chunks: Buffer[] = [];
  /** Small chunks, in the first `#blockLength` bytes. */
  #block = EMPTY;
  #blockLength = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(chunk: Buffer): void {
    if (this.#size > 0 && chunk.length < MIN_VIEW_BYTES) this.#copy(chunk);
    else {
      this.#endBlock();
      this.#chunks.push(chunk);
    }
    this.#size += chunk.length;
  }

  /** Returns all bytes and removes them. They are valid until bytes of any collector are taken. */
  take(): Buffer {
    this.#endBlock();
    const [first = EMPTY, second] = this.#chunks;
    const bytes = second === undefined ? first : joinChunks(this.#chunks, this.#size);
    this.clear();
    return bytes;
  }

  clear(): void {
    this.#chunks = [];
    this.#block = EMPTY;
    this.#blockLength = 0;
    this.#size = 0;
  }

  #copy(chunk: Buffer): void {
    if (this.#blockLength + chunk.length > this.#block.length) {
      this.#endBlock();
      this.#block = Buffer.allocUnsafe(Math.max(chunk.length, Math.min(this.#size, MAX_BLOCK_BYTES)));
    }
    this.#blockLength += chunk.copy(this.#block, this.#blockLength);
  }

  #endBlock(): void {
    if (this.#blockLength === 0) return;
    this.#chunks.push(this.#block.subarray(0, this.#blockLength));
    this.#block = EMPTY;
    this.#blockLength = 0;
  }
}
