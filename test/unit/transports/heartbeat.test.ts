import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Heartbeat } from "../../../src/transports/websocket/websocket-transport.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const PING_INTERVAL_MS = 30_000;

function startHeartbeat() {
  const clock = new FakeClock();
  const state = { received: 0, pings: 0, timeouts: 0 };
  const heartbeat = new Heartbeat({
    clock,
    bytesReceived: () => state.received,
    ping: () => (state.pings += 1),
    onTimeout: () => (state.timeouts += 1),
  });
  return { clock, state, heartbeat };
}

describe("a heartbeat", () => {
  it("pings once per interval while data is received", async () => {
    const { clock, state } = startHeartbeat();
    for (const count of [1, 2, 3]) {
      clock.advance(PING_INTERVAL_MS);
      expect(state).toMatchObject({ pings: count });
      state.received += 1;
    }
    await setImmediate();
    expect(state).toMatchObject({ pings: 3, timeouts: 0 });
  });

  it("reports a timeout once after an interval without data", async () => {
    const { clock, state } = startHeartbeat();
    clock.advance(PING_INTERVAL_MS);
    clock.advance(PING_INTERVAL_MS - 1);
    await setImmediate();
    expect(state.timeouts).toBe(0);
    clock.advance(1);
    await setImmediate();
    expect(state).toMatchObject({ pings: 1, timeouts: 1 });
    expect(clock.pending).toBe(0);
  });

  it("reads pending input of a busy process before it reports a timeout", async () => {
    const { clock, state } = startHeartbeat();
    clock.advance(PING_INTERVAL_MS);
    clock.advance(PING_INTERVAL_MS);
    state.received += 1;
    await setImmediate();
    expect(state).toMatchObject({ pings: 2, timeouts: 0 });
  });

  it("can be stopped while a timeout is being evaluated", async () => {
    const { clock, state, heartbeat } = startHeartbeat();
    clock.advance(PING_INTERVAL_MS);
    clock.advance(PING_INTERVAL_MS);
    heartbeat.stop();
    await setImmediate();
    expect(state.timeouts).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
