/** A node of a {@link LinkedSet}; the handle for removing its value. */
export class LinkedNode<Value> {
  readonly value: Value;
  previous: LinkedNode<Value> | undefined;
  next: LinkedNode<Value> | undefined;
  isLinked = true;

  constructor(value: Value, previous: LinkedNode<Value> | undefined) {
    this.value = value;
    this.previous = previous;
  }
}

/**
 * Values in insertion order, as a doubly linked list. A `Set` would cost 3 µs per local call for hashing and
 * deleting an object.
 */
export class LinkedSet<Value> {
  #first: LinkedNode<Value> | undefined;
  #last: LinkedNode<Value> | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add(value: Value): LinkedNode<Value> {
    const node = new LinkedNode(value, this.#last);
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
    return node;
  }

  /** Does nothing if the node was already removed. */
  delete(node: LinkedNode<Value>): void {
    if (!node.isLinked) return;
    node.isLinked = false;
    const { previous, next } = node;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    // A tenured node would otherwise keep its successors alive until the next full collection.
    node.previous = undefined;
    node.next = undefined;
  }

  /** Returns the current values in insertion order. */
  values(): Value[] {
    const values: Value[] = [];
    for (let node = this.#first; node !== undefined; node = node.next) values.push(node.value);
    return values;
  }
}
