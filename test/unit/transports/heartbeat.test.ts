import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Heartbeat } from "../../../src/transports/websocket/heartbeat.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const BEAT_MS = 30_000;

function beating() {
  const clock = new FakeClock();
  const state = { received: 0, pings: 0, silences: 0 };
  const heartbeat = new Heartbeat({
    clock,
    received: () => state.received,
    ping: () => (state.pings += 1),
    onSilence: () => (state.silences += 1),
  });
  return { clock, state, heartbeat };
}

describe("a heartbeat", () => {
  it("asks once a beat, as long as it is answered", async () => {
    const { clock, state } = beating();
    for (const beat of [1, 2, 3]) {
      clock.advance(BEAT_MS);
      expect(state).toMatchObject({ pings: beat });
      state.received += 1;
    }
    await setImmediate();
    expect(state).toMatchObject({ pings: 3, silences: 0 });
  });

  it("tells a whole beat without an answer once", async () => {
    const { clock, state } = beating();
    clock.advance(BEAT_MS);
    clock.advance(BEAT_MS - 1);
    await setImmediate();
    expect(state.silences).toBe(0);
    clock.advance(1);
    await setImmediate();
    expect(state).toMatchObject({ pings: 1, silences: 1 });
    expect(clock.pending).toBe(0);
  });

  it("first looks for what came while the process was busy", async () => {
    const { clock, state } = beating();
    clock.advance(BEAT_MS);
    clock.advance(BEAT_MS);
    state.received += 1;
    await setImmediate();
    expect(state).toMatchObject({ pings: 2, silences: 0 });
  });

  it("is stopped at any time", async () => {
    const { clock, state, heartbeat } = beating();
    clock.advance(BEAT_MS);
    clock.advance(BEAT_MS);
    heartbeat.stop();
    await setImmediate();
    expect(state.silences).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
