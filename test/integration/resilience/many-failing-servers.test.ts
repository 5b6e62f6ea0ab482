import { describe, expect, it } from "vitest";
import { runFailingServers } from "../../fixtures/failing-servers.js";

describe("fifteen servers in three processes, where some hang, one dies and one changes", () => {
  it("do not affect healthy servers, recover, and leave nothing open", { timeout: 120_000 }, async () => {
    const { servers, toolsAtStart, calls, outcomes, violations } = await runFailingServers({
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
