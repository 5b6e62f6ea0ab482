import { fullHash } from "../../json-schema/schema-hash.js";
import { describeValue } from "../../json/describe-value.js";
import type { LimitedStore } from "../../stores/driver-store.js";
import type { StoreLease } from "../../stores/key-value-store.js";

/** Allows one run to send the call of an approval. Released if the call has not run. */
export type ApprovalLease = Pick<StoreLease, "release">;

export const NO_LEASE: ApprovalLease = { release: async () => undefined };

/** A lease is not renewed: it also has to outlive the process that has sent the call. */
const LEASE_MS = 30 * 86_400_000;

/**
 * Returns `undefined` if a process that shares the store has the lease.
 * @throws TypeError if the store returns something that is not a lease
 */
export async function takeStoreLease(store: LimitedStore, key: string): Promise<ApprovalLease | undefined> {
  const lease: unknown = await store.lease?.(`approvals/${fullHash(key)}`, { ttlMs: LEASE_MS });
  if (lease === undefined || lease === null || lease === false) return undefined;
  if (typeof Reflect.get(Object(lease), "release") === "function") return lease as ApprovalLease;
  throw new TypeError(`The store returned ${describeValue(lease)} instead of a lease.`);
}

/** The approvals that were used, by what the checkpointer of this process keeps of their thread. */
const USED_APPROVALS = new WeakMap<object, Set<string>>();

/** Returns `undefined` if another run of this process has the lease. */
export function takeProcessLease(thread: object, key: string): ApprovalLease | undefined {
  const used = USED_APPROVALS.get(thread) ?? new Set();
  USED_APPROVALS.set(thread, used);
  const hash = fullHash(key);
  if (used.has(hash)) return undefined;
  used.add(hash);
  return { release: async () => void used.delete(hash) };
}
