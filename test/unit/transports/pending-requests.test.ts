import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { Redactor } from "../../../src/errors/redaction.js";
import {
  BaseTransport,
  type PendingRequest,
  PendingRequests,
  type WireRequest,
} from "../../../src/transports/pending-requests.js";
import { rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const CONTEXT = { server: "test", redactor: new Redactor(), clock: new FakeClock() };

class RecordingTransport extends BaseTransport<WireRequest> {
  readonly cancelled: unknown[] = [];
  readonly settled: unknown[] = [];
  /** Accessible to the tests. */
  override readonly pending: PendingRequests<WireRequest> = new PendingRequests(CONTEXT, this);

  override onCancelled({ id }: PendingRequest<WireRequest>): void {
    this.cancelled.push(id);
  }

  override onSettled({ id }: PendingRequest<WireRequest>): void {
    this.settled.push(id);
  }
}

function createPendingRequests() {
  const { pending, cancelled, settled } = new RecordingTransport(CONTEXT);
  const add = (id: number) =>
    pending.add(
      { jsonrpc: "2.0", id, method: "tools/call", params: {} },
      { cancellation: new CancelScope() },
    );
  return { pending, add, cancelled, settled };
}

describe("a request that is settled", () => {
  it("is not cancelled on the server", async () => {
    const { add, cancelled } = createPendingRequests();
    const [first, second] = [add(1), add(2)];
    first.receive({ result: { ok: true } });
    first.cancel("too late");
    second.cancel("in time");
    expect(await first.response).toEqual({ ok: true });
    expect(await rejection(second.response)).toBe("in time");
    expect(cancelled).toEqual([2]);
  });

  it("is reported once, also if its transport fails afterwards", async () => {
    const { add, settled } = createPendingRequests();
    const request = add(1);
    request.resolve({ ok: true });
    request.reject(new Error("The connection was reset."));
    expect(await request.response).toEqual({ ok: true });
    expect(settled).toEqual([1]);
  });

  it("leaves another request with its id, which still gets its response", async () => {
    const { pending, add, settled } = createPendingRequests();
    const first = add(0);
    const second = add(0);
    first.resolve({});
    expect(pending.get(0)).toBe(second);
    pending.get(0)?.receive({ result: { ok: true } });
    expect(await second.response).toEqual({ ok: true });
    expect(settled).toEqual([0]);
    expect(pending.size).toBe(0);
  });
});
