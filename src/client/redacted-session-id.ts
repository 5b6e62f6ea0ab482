import type { Redactor } from "../errors/redaction.js";
import type { Session } from "../session/session.js";

/** The id of a session, unless it is a secret: one that somebody pinned, or that is kept in a store. */
export function shownSessionId(session: Session | undefined, redactor: Redactor): string | undefined {
  const id = session?.id;
  return id === undefined || redactor.knows(id) ? undefined : id;
}
