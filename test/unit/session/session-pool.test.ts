import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { SessionPool } from "../../../src/session/session-pool.js";
import type { Session } from "../../../src/session/session.js";
import { rejection } from "../../fixtures/clients.js";

/** The part of a session that the pool uses. */
class PooledSession implements Pick<Session, "id" | "isAlive" | "drain" | "close"> {
  readonly id: string;
  isAlive = true;
  isDraining = false;
  closedWith: object | undefined;

  constructor(id: string) {
    this.id = id;
  }

  drain(): void {
    this.isDraining = true;
  }

  async close(options: object): Promise<void> {
    this.isAlive = false;
    this.closedWith = options;
  }
}

function createPool({ maxSlots = 10, failures = 0 } = {}) {
  const opened: PooledSession[] = [];
  const evicted: string[] = [];
  let failuresLeft = failures;
  const pool = new SessionPool({
    maxSlots,
    terminate: true,
    createCredentials: undefined,
    createStoredSession: undefined,
    openSession: async ({ identity }, { generation }) => {
      failuresLeft -= 1;
      if (failuresLeft >= 0) throw new Error("handshake failed");
      const session = new PooledSession(`${identity}-${generation}`);
      opened.push(session);
      return session as unknown as Session;
    },
    onEvicted: (identity) => void evicted.push(identity),
  });
  const open = async (identity: string) => {
    const slot = pool.acquire(identity, undefined);
    return { slot, handle: await slot.currentSession.acquire(new CancelScope()) };
  };
  return { pool, opened, evicted, open };
}

describe("the session pool", () => {
  it("opens one session for concurrent callers of one identity, and another for each identity", async () => {
    const { opened, open } = createPool();
    await Promise.all([open("ann"), open("ann"), open("bob")]);
    expect(opened.map(({ id }) => id)).toEqual(["ann-1", "bob-1"]);
  });

  it("opens the next session once when several callers lose one, and ignores late losses of older ones", async () => {
    const { opened, open } = createPool();
    const { slot, handle: first } = await open("ann");
    slot.currentSession.invalidate(first);
    const { handle: second } = await open("ann");
    slot.currentSession.invalidate(first);
    expect(slot.currentSession.ready).toBe(second);
    expect(opened.map(({ id, isDraining }) => [id, isDraining])).toEqual([
      ["ann-1", true],
      ["ann-2", false],
    ]);
  });

  it("replaces a session whose connection is closed", async () => {
    const { opened, open } = createPool();
    await open("ann");
    if (opened[0] !== undefined) opened[0].isAlive = false;
    expect((await open("ann")).handle.generation).toBe(2);
  });

  it("tries again after a failed handshake", async () => {
    const { open } = createPool({ failures: 1 });
    expect((await rejection(open("ann"))).message).toBe("handshake failed");
    expect((await open("ann")).handle.generation).toBe(2);
  });

  it("ends only the wait of a caller that cancels", async () => {
    const { pool, opened } = createPool();
    const slot = pool.acquire("ann", undefined);
    const cancellation = new CancelScope();
    const cancelled = rejection(slot.currentSession.acquire(cancellation));
    const other = slot.currentSession.acquire(new CancelScope());
    const reason = new Error("stop");
    cancellation.cancel(reason);
    expect(await cancelled).toBe(reason);
    expect((await other).session.id).toBe("ann-1");
    expect(opened).toHaveLength(1);
  });

  it("evicts the identity that was idle longest, and none that is in use", async () => {
    const { pool, opened, evicted, open } = createPool({ maxSlots: 2 });
    const { slot: ann } = await open("ann");
    const { slot: bob } = await open("bob");
    pool.release(bob);
    const { slot: carl } = await open("carl");
    expect(evicted).toEqual(["bob"]);
    pool.release(ann);
    pool.release(carl);
    // Used again, so that carl is idle for longer.
    pool.release((await open("ann")).slot);
    await open("dora");
    expect(evicted).toEqual(["bob", "carl"]);
    await pool.close();
    expect(opened.map(({ closedWith }) => closedWith)).toEqual(opened.map(() => ({ terminate: true })));
  });
});
