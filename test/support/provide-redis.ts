import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** How to start Redis; empty where there is none. */
    redisCommand: string;
  }
}

const run = promisify(execFile);
const COMMAND = "redis-server";
const INSTALL_LIMIT_MS = 180_000;

/** Once for all tests: Redis is found, or installed where that is possible, or its tests are left out. */
export default async function provideRedis({ provide }: TestProject): Promise<void> {
  provide("redisCommand", (await isThere()) || (await install()) ? COMMAND : "");
}

async function isThere(): Promise<boolean> {
  return run(COMMAND, ["--version"]).then(
    () => true,
    () => false,
  );
}

async function install(): Promise<boolean> {
  try {
    if (process.getuid?.() !== 0) throw new Error("only root can install it");
    const options = { timeout: INSTALL_LIMIT_MS, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
    // What was known of packages before may do.
    await run("apt-get", ["update", "-qq"], options).catch(() => undefined);
    await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", COMMAND], options);
    return true;
  } catch (error) {
    console.warn(`The tests that need Redis are left out: there is no ${COMMAND} here. ${String(error)}`);
    return false;
  }
}
