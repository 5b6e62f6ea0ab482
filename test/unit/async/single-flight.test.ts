import { describe, expect, it, vi } from "vitest";
import { SingleFlight } from "../../../src/async/single-flight.js";
import { times } from "../../fixtures/clients.js";

describe("SingleFlight", () => {
  it("runs one operation per key for concurrent callers", async () => {
    const flights = new SingleFlight<string, string>();
    const work = vi.fn(async () => "done");
    const results = await Promise.all(times(5, () => flights.run("a", work)));
    await flights.run("b", work);
    expect(results).toEqual(times(5, () => "done"));
    expect(work).toHaveBeenCalledTimes(2);
  });

  it("runs again after the operation has settled, also after a failure", async () => {
    const flights = new SingleFlight<string, string>();
    await expect(flights.run("a", () => Promise.reject(new Error("down")))).rejects.toThrow("down");
    expect(await flights.run("a", async () => "up")).toBe("up");
  });

  it("returns the operation in progress, for callers that wait for it without starting one", async () => {
    const flights = new SingleFlight<string, string>();
    const started = flights.run("a", async () => "done");
    expect(flights.get("a")).toBe(started);
    await started;
    expect(flights.get("a")).toBeUndefined();
  });
});
