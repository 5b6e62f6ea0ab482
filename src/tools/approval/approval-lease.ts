import { fullHash } from "../../json-schema/schema-hash.js";
import type { LimitedStore } from "../../stores/driver-store.js";
import type { StoreLease } from "../../stores/key-value-store.js";

/** Allows one run to send the call of an approval. Released if the call has not run. */
export type ApprovalLease = Pick<StoreLease, "release">;

export const NO_LEASE: ApprovalLease = { release: async () => undefined };

/** A lease is not renewed: it also has to outlive the process that has sent the call. */
const LEASE_MS = 30 * 86_400_000;

/** Returns `undefined` if a process that shares the store has the lease. */
export async function takeStoreLease(store: LimitedStore, key: string): Promise<ApprovalLease | undefined> {
  return store.lease?.(`approvals/${fullHash(key)}`, { ttlMs: LEASE_MS });
}

/**
 * The approvals that were used, by checkpointer. Never removed: the checkpointer itself keeps more data about each of
 * these calls.
 */
const USED_APPROVALS = new WeakMap<object, Set<string>>();

/** Returns `undefined` if another run of this process has the lease. */
export function takeProcessLease(checkpointer: object, key: string): ApprovalLease | undefined {
  const used = USED_APPROVALS.get(checkpointer) ?? new Set();
  USED_APPROVALS.set(checkpointer, used);
  const hash = fullHash(key);
  if (used.has(hash)) return undefined;
  used.add(hash);
  return { release: async () => void used.delete(hash) };
}
