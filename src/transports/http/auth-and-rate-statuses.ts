/** Statuses that are about who asks, or when: they say nothing about what the server speaks. */
export const CALLER_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 425, 429]);
