/** A place in a roster; given up once. */
export class RosterPlace<Value> {
  readonly value: Value;
  before: RosterPlace<Value> | undefined;
  after: RosterPlace<Value> | undefined;
  isTaken = true;

  constructor(value: Value, before: RosterPlace<Value> | undefined) {
    this.value = value;
    this.before = before;
  }
}

/**
 * Who is there, in the order in which they came. A `Set` says the same, but takes 3 µs of a local call
 * to give one more object a hash, and to forget it.
 */
export class Roster<Value> {
  #first: RosterPlace<Value> | undefined;
  #last: RosterPlace<Value> | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  enter(value: Value): RosterPlace<Value> {
    const place = new RosterPlace(value, this.#last);
    if (this.#last === undefined) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    return place;
  }

  leave(place: RosterPlace<Value>): void {
    if (!place.isTaken) return;
    place.isTaken = false;
    const { before, after } = place;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // Until the next full collection, a place that has grown old would keep those after it.
    place.before = undefined;
    place.after = undefined;
  }

  /** All who are there now. */
  all(): Value[] {
    const values: Value[] = [];
    for (let place = this.#first; place !== undefined; place = place.after) values.push(place.value);
    return values;
  }
}
