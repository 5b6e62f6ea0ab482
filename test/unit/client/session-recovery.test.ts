import { describe, expect, it } from "vitest";
import { recoverSession } from "../../../src/client/middleware/session-recovery.js";
import { type FailureDetails, McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import type { FailureKind } from "../../../src/errors/failure-kinds.js";
import type { Connection } from "../../../src/session/connection.js";
import { SessionPool } from "../../../src/session/session-pool.js";
import type { Session } from "../../../src/session/session.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { createRequest } from "../../fixtures/request-context.js";

interface Setup {
  /** How each attempt fails; the next one succeeds. */
  readonly failures: readonly McpRuntimeError[];
  readonly isIdempotent?: boolean;
  readonly maxRecoveries?: number;
  readonly sessionId?: string;
  readonly hasSessionIds?: boolean;
}

/** Runs one request on a connection whose sessions fail as given. Returns the ids of the sessions that were used. */
async function run(setup: Setup) {
  const { failures, isIdempotent = false, maxRecoveries = 8, sessionId: id, hasSessionIds = true } = setup;
  const used: (string | undefined)[] = [];
  let opened = 0;
  const pool = new SessionPool({
    maxSlots: 10,
    terminate: false,
    createCredentials: undefined,
    createStoredSession: undefined,
    openSession: async () => {
      opened += 1;
      const name = hasSessionIds ? `session ${opened}` : undefined;
      const request = async () => {
        const failure = failures[used.length];
        used.push(name);
        if (failure !== undefined) throw failure;
        return "done";
      };
      const session = {
        id: name,
        isAlive: true,
        isConfirmed: true,
        metadata: undefined,
        drain: () => undefined,
      };
      return { ...session, request } as unknown as Session;
    },
    onEvicted: () => undefined,
  });
  const connection = {
    config: { session: { id, maxRecoveries, sequential: false }, classify: undefined },
    pool,
  } as unknown as Connection;
  const clock = new FakeClock();
  const lost: unknown[] = [];
  const handler = recoverSession({
    server: "main",
    clock,
    random: () => 0.5,
    events: { warn: () => undefined },
    lifecycle: { sessionEvents: { lost: (request) => void lost.push(request) } },
  });
  const request = createRequest({ isIdempotent, connect: () => connection });
  const settled = handler(request).catch((error: unknown) => (error as McpRuntimeError).kind);
  const outcome = await clock.advanceUntilSettled(settled, 10_000);
  return { outcome, used, opened, lost: lost.length, attempts: request.attempts };
}

const failure = (kind: FailureKind, details: FailureDetails = {}) => new McpRuntimeError(kind, kind, details);
const LOST = failure("session-lost", { status: 404 });
const REPORTED = failure("server-error", { code: -32_001, cause: new Error("Session not found") });

describe("a request whose session is lost", () => {
  it("is sent again on a new session, although it is not idempotent", async () => {
    expect(await run({ failures: [LOST] })).toEqual({
      outcome: "done",
      used: ["session 1", "session 2"],
      opened: 2,
      lost: 1,
      attempts: 2,
    });
  });

  it("is tried twice on a session that is lost at once, as behind a load balancer", async () => {
    const { outcome, used } = await run({ failures: [LOST, LOST, LOST] });
    expect(outcome).toBe("done");
    expect(used).toEqual(["session 1", "session 2", "session 2", "session 3"]);
  });

  it("fails after maxRecoveries new sessions", async () => {
    const { outcome, opened } = await run({ failures: Array(20).fill(LOST), maxRecoveries: 2 });
    expect([outcome, opened]).toEqual(["session-lost", 3]);
    expect(await run({ failures: [LOST], maxRecoveries: 0 })).toMatchObject({ outcome: "session-lost" });
  });

  it("never replaces a session id of the user, nor one of a server without sessions", async () => {
    expect(await run({ failures: [LOST], sessionId: "mine" })).toMatchObject({ opened: 1, attempts: 1 });
    expect(await run({ failures: [LOST], hasSessionIds: false })).toMatchObject({ opened: 1, attempts: 1 });
  });

  it("that is reported with status 200 gets a new one, but only an idempotent request is sent again", async () => {
    expect(await run({ failures: [REPORTED] })).toMatchObject({
      outcome: "server-error",
      attempts: 1,
      lost: 1,
    });
    expect(await run({ failures: [REPORTED], isIdempotent: true })).toMatchObject({
      outcome: "done",
      used: ["session 1", "session 2"],
    });
  });

  it.each(["server-error", "connection-lost", "timeout", "not-found", "unauthorized"] as const)(
    "is not assumed after a failure of kind %s",
    async (kind) => {
      expect(await run({ failures: [failure(kind)], isIdempotent: true })).toMatchObject({
        outcome: kind,
        opened: 1,
        attempts: 1,
        lost: 0,
      });
    },
  );
});
