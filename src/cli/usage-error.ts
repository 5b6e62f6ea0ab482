import type { Exit } from "./exit-codes.js";

/** A command that cannot be carried out as it was given. `next` is what to do about it. */
export class UsageError extends Error {
  readonly next: string;
  readonly exit: Exit;

  constructor(message: string, next: string, exit: Exit = "usage") {
    super(message);
    this.name = "UsageError";
    this.next = next;
    this.exit = exit;
  }
}
