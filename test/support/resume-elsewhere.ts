import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { createMcpTools } from "../../src/index.js";

/** What another process is told of an agent that waits: JSON, and nothing of this process. */
export interface PausedAgent {
  /** Its name among the `doors`. */
  readonly door: string;
  readonly servers: Parameters<typeof createMcpTools>[0];
  /** The file of its `FileSaver`. */
  readonly path: string;
  /** What it is resumed with. */
  readonly resume: unknown;
}

/** Goes on with thread "1" of an agent in a process of its own; what its tools gave there. */
export async function resumeElsewhere(paused: PausedAgent): Promise<string[]> {
  const script = fileURLToPath(new URL("resume-agent.ts", import.meta.url));
  const args = ["--import", "tsx", script, JSON.stringify(paused)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 50_000 });
  return JSON.parse(stdout) as string[];
}
