import { describe, expect, it } from "vitest";
import { runFleet } from "../../fixtures/failing-servers.js";

describe("fifteen servers in three processes, of which some hang, one dies and one changes", () => {
  it("cost no call to a healthy one, come back, and leave nothing open", { timeout: 120_000 }, async () => {
    const { servers, toolsAtStart, calls, outcomes, violations } = await runFleet({
      processes: 3,
      serversEach: 5,
      rounds: 3,
    });
    expect({ servers, toolsAtStart, calls }).toEqual({ servers: 15, toolsAtStart: 15, calls: 60 });
    expect(violations).toEqual([]);
    expect(Object.keys(outcomes)).toContain("result");
    expect(Object.keys(outcomes).length).toBeGreaterThan(1);
  });
});
