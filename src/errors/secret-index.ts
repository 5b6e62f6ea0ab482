export const REDACTED = "[redacted]";

/** Redacting shorter values would damage ordinary words. */
export const MIN_SECRET_LENGTH = 4;
/** If this many characters of a secret match, they are redacted, whatever follows. */
const MAX_PREFIX_LENGTH = 512;
/** Longer secrets are not searched for secrets that overlap them. */
const MAX_OVERLAP_LENGTH = MAX_PREFIX_LENGTH;
/**
 * How many characters of secrets are compared for each character of a text. Ordinary texts need less than one. Servers
 * choose tokens, session ids and ids of tasks: those that repeat themselves would be compared at every position.
 */
const MAX_STEPS_PER_CHARACTER = 16;
/** A power of two. */
const FILTER_SIZE = 4_096;
const ELLIPSIS = "…".charCodeAt(0);

/** A node of a radix tree: secrets that begin with the same characters share its nodes. */
interface SecretNode {
  /** The characters between the parent and this node. */
  label: string;
  /** Whether a secret ends here. */
  isEnd: boolean;
  /** By the first character of their label; `undefined` without children. */
  children: Map<number, SecretNode> | undefined;
}

/**
 * Finds known secrets in a text in one pass: the time grows with the length of the text, not with the number or the form
 * of the secrets. The same secret may be added several times, and is found until it was removed as often.
 */
export class SecretIndex {
  /** How often each secret was added. */
  readonly #counts = new Map<string, number>();
  /** The secrets by their first characters, as the roots of trees. */
  readonly #roots = new Map<number, SecretNode>();
  /** The number of roots for a hash of their key, to skip most positions of a text without a lookup. */
  readonly #filter = new Uint16Array(FILTER_SIZE);
  #maxLength = 0;
  #steps = 0;

  /** At least the length of the longest secret. */
  get maxLength(): number {
    return this.#maxLength;
  }

  /** How many characters of secrets were compared so far. */
  get steps(): number {
    return this.#steps;
  }

  has(text: string): boolean {
    return this.#counts.has(text);
  }

  /** Each secret as often as it was added. */
  *[Symbol.iterator](): Generator<string> {
    for (const [secret, count] of this.#counts) for (let left = count; left > 0; left -= 1) yield secret;
  }

  /** Ignores secrets that are too short. */
  add(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH) return;
    const count = this.#counts.get(secret) ?? 0;
    this.#counts.set(secret, count + 1);
    if (count > 0) return;
    this.#maxLength = Math.max(this.#maxLength, secret.length);
    const key = keyAt(secret, 0);
    const root = this.#roots.get(key);
    if (root !== undefined) return insert(root, secret);
    this.#filter[toSlot(key)] = (this.#filter[toSlot(key)] ?? 0) + 1;
    this.#roots.set(key, {
      label: "",
      isEnd: false,
      children: new Map([[secret.charCodeAt(0), leaf(secret)]]),
    });
  }

  remove(secret: string): void {
    const count = this.#counts.get(secret);
    if (count === undefined) return;
    if (count > 1) {
      this.#counts.set(secret, count - 1);
      return;
    }
    this.#counts.delete(secret);
    const key = keyAt(secret, 0);
    const root = this.#roots.get(key);
    if (root === undefined) return;
    remove(root, secret);
    if (root.children !== undefined) return;
    this.#roots.delete(key);
    this.#filter[toSlot(key)] = (this.#filter[toSlot(key)] ?? 1) - 1;
  }

  /**
   * Redacts secrets that start within the first `shownLength` characters, and omits the rest of the text. Secrets that
   * overlap or follow each other are replaced together. The rest of a text that takes too many steps is replaced, too.
   */
  redact(text: string, shownLength: number = text.length): string {
    const filter = this.#filter;
    const maxSteps = this.#steps + MAX_STEPS_PER_CHARACTER * shownLength;
    let clean = "";
    let redactedTo = 0;
    for (let position = 0; position < shownLength; position += 1) {
      const key = keyAt(text, position);
      if (filter[toSlot(key)] === 0) continue;
      const isLimitReached = this.#steps > maxSteps;
      const length = isLimitReached ? Number.POSITIVE_INFINITY : this.#matchAt(text, position, key);
      if (length === 0) continue;
      const isAdjacent = redactedTo > 0 && position <= redactedTo;
      if (!isAdjacent) clean += `${text.slice(redactedTo, position)}${REDACTED}`;
      redactedTo = Math.max(redactedTo, position + length);
      if (length > MAX_OVERLAP_LENGTH) position += length - 1;
    }
    return redactedTo < shownLength ? clean + text.slice(redactedTo, shownLength) : clean;
  }

  /**
   * Returns how much of a secret is at a position: all of the longest one, as much of a long one as follows its first
   * characters, or the beginning of one that was truncated with an ellipsis before. Otherwise 0.
   */
  #matchAt(text: string, position: number, key: number): number {
    let node = this.#roots.get(key);
    let longest = 0;
    let length = 0;
    for (;;) {
      node = node?.children?.get(text.charCodeAt(position + length));
      if (node === undefined) break;
      const shared = sharedLength(node.label, text, position + length);
      length += shared;
      this.#steps += shared;
      if (shared < node.label.length) break;
      if (node.isEnd) longest = length;
    }
    if (length >= MAX_PREFIX_LENGTH) return length;
    const isTruncated = length >= MIN_SECRET_LENGTH && text.charCodeAt(position + length) === ELLIPSIS;
    return isTruncated ? length : longest;
  }
}

function leaf(label: string): SecretNode {
  return { label, isEnd: true, children: undefined };
}

function insert(root: SecretNode, secret: string): void {
  let node = root;
  let length = 0;
  while (length < secret.length) {
    const children = (node.children ??= new Map<number, SecretNode>());
    const child = children.get(secret.charCodeAt(length));
    if (child === undefined) {
      children.set(secret.charCodeAt(length), leaf(secret.slice(length)));
      return;
    }
    const shared = sharedLength(child.label, secret, length);
    if (shared < child.label.length) splitLabel(child, shared);
    node = child;
    length += shared;
  }
  node.isEnd = true;
}

function splitLabel(node: SecretNode, length: number): void {
  const { label, isEnd, children } = node;
  const rest: SecretNode = { label: label.slice(length), isEnd, children };
  Object.assign(node, {
    label: label.slice(0, length),
    isEnd: false,
    children: new Map([[rest.label.charCodeAt(0), rest]]),
  } satisfies SecretNode);
}

/** Removes a secret that was inserted. */
function remove(root: SecretNode, secret: string): void {
  let parent = root;
  let node = root;
  for (let length = 0; length < secret.length; length += node.label.length) {
    const child = node.children?.get(secret.charCodeAt(length));
    if (child === undefined) return;
    parent = node;
    node = child;
  }
  node.isEnd = false;
  if (node.children !== undefined) return joinOnlyChild(node);
  parent.children?.delete(secret.charCodeAt(secret.length - node.label.length));
  if (parent.children?.size === 0) parent.children = undefined;
  if (parent !== root) joinOnlyChild(parent);
}

/** A node where no secret ends and that has one child becomes one with it. */
function joinOnlyChild(node: SecretNode): void {
  if (node.isEnd || node.children?.size !== 1) return;
  const [child] = node.children.values();
  if (child !== undefined) Object.assign(node, { ...child, label: node.label + child.label });
}

/** How many characters of a label are at a position of a text. */
function sharedLength(label: string, text: string, position: number): number {
  let length = 0;
  while (length < label.length && label.charCodeAt(length) === text.charCodeAt(position + length))
    length += 1;
  return length;
}

/** Combines the first `MIN_SECRET_LENGTH` characters. Different characters may have the same key. */
function keyAt(text: string, position: number): number {
  const first = text.charCodeAt(position) ^ (text.charCodeAt(position + 1) << 8);
  return first ^ (text.charCodeAt(position + 2) << 16) ^ (text.charCodeAt(position + 3) << 24);
}

function toSlot(key: number): number {
  return (key ^ (key >>> 12) ^ (key >>> 21)) & (FILTER_SIZE - 1);
}
