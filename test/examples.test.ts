import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const examples = readdirSync(new URL("../examples", import.meta.url)).filter((name) =>
  /\.(?:ts|mjs)$/.test(name),
);

/** The last line that an example prints: it came to its end, and this is how the story ends. */
const LAST_LINES: Record<string, string> = {
  "agent-definition.ts": "the server got: Oslo, 3 days, key k-123",
  "approval.ts": "Ann has her money; Bob has to wait.",
  "chain.ts": "Translated: «good morning»",
  "create-agent.ts": "ai: Ten of twelve pages are printed.",
  "lambda.ts": "4. cancelled: enough. The function was started 3 times, for 3 calls.",
  "hot-reload.ts": "ai: There are three umbrellas in Oslo.",
  "drift-report.ts": "the server is down: unreachable",
  "manager-in-a-graph.ts": "   news: disconnected",
  "many-servers.ts":
    '5. Server "library" is disconnected: nothing is sent to it before it is connected again.',
  "plain-javascript.mjs": "hello",
  "quick-start.ts": "ai: Take an umbrella.",
  "restart-in-the-middle.ts": "the tool ran 2 times, for 2 calls",
  "rules-and-hidden-arguments.ts": 'The call of tool "delete_order" was refused: it was not approved.',
  "server-restart.ts": "   the tool ran 2 times, for 2 calls",
  "shared-cache.ts": '"forecast" is on server "weather", version 1.0.0, which is ok',
  "stdio.ts": "Echo: I am a process of my own.",
};

describe("the examples", () => {
  it("are all told here", () => {
    expect(examples.toSorted()).toEqual(Object.keys(LAST_LINES).toSorted());
  });

  it.each(examples)(
    "%s runs, without key or network, and ends by itself",
    { timeout: 30_000 },
    async (name) => {
      // TypeScript runs from the source; plain JavaScript uses what was built, as a user would.
      const loader = name.endsWith(".ts") ? ["--import", "tsx"] : [];
      const { stdout, stderr } = await run(process.execPath, [...loader, `examples/${name}`], {
        cwd: root,
        timeout: 25_000,
      });
      expect(stderr).toBe("");
      expect(stdout.trimEnd().split("\n").at(-1)).toBe(LAST_LINES[name]);
      if (name !== "create-agent.ts") expect(stdout).not.toContain("failed:");
    },
  );
});
