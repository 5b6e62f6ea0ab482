/** "fetch failed" says nothing: the reason is its cause, or the first of several. */
export function reasonOf(error: unknown): Error {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return reason instanceof Error ? reason : new Error(String(error));
}
