import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileStore, redisStore } from "../../../src/stores/index.js";
import { eventually, times } from "../../fixtures/clients.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";
import { StoreProcess } from "../../fixtures/store-process.js";

/** Starting two compilers and two processes takes its time on a busy machine. */
const PATIENCE = { timeout: 60_000 };

/** Large enough to be written in several pieces; every part of it is by the same writer. */
function valueOf(writer: string, n: number): { readonly writer: string; readonly parts: string[] } {
  return { writer: `${writer}${n}`, parts: times(500, () => `${writer}${n}`.repeat(40)) };
}

function isWhole(value: unknown): boolean {
  const { writer, parts } = value as ReturnType<typeof valueOf>;
  return parts.length === 500 && parts.every((part) => part === writer.repeat(40));
}

describe("two processes on one file store", PATIENCE, () => {
  it("lose nothing, and never read half a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "shared-store-"));
    try {
      await using own = fileStore(folder, { timeoutMs: 30_000 });
      await using one = new StoreProcess("file", folder);
      await using other = new StoreProcess("file", folder);
      await own.set("fought-over", valueOf("own", 0));
      await Promise.all([one.get("fought-over"), other.get("fought-over")]);
      const reads: unknown[] = [];
      const work = async (name: string, store: StoreProcess) => {
        for (const n of times(60, (index) => index)) {
          await Promise.all([store.set("fought-over", valueOf(name, n)), store.set(`${name}/${n}`, n)]);
          reads.push(await own.get("fought-over"));
        }
      };
      await Promise.all([work("one", one), work("other", other)]);
      expect(reads).toHaveLength(120);
      expect(reads.filter((value) => !isWhole(value))).toEqual([]);
      expect(await one.list("other/")).toHaveLength(60);
      expect(await other.list("one/")).toHaveLength(60);
      expect(await Promise.all(times(60, (n) => own.get(`one/${n}`)))).toEqual(times(60, (n) => n));
    } finally {
      rmSync(folder, { recursive: true, maxRetries: 20, retryDelay: 50 });
    }
  });

  it("one that is killed while it writes spoils nothing for the other", async () => {
    const folder = mkdtempSync(join(tmpdir(), "shared-store-"));
    try {
      await using own = fileStore(folder, { timeoutMs: 30_000 });
      await own.set("k", valueOf("own", 0));
      await using doomed = new StoreProcess("file", folder);
      await doomed.set("k", valueOf("doomed", 0));
      for (const n of times(200, (index) => index + 1)) void doomed.set("k", valueOf("doomed", n));
      await eventually(async () => JSON.stringify(await own.get("k")).includes("doomed1"));
      doomed.kill();
      expect(isWhole(await own.get("k"))).toBe(true);
      await own.set("k", valueOf("own", 1));
      expect(isWhole(await own.get("k"))).toBe(true);
      expect(await own.list("")).toEqual(["k"]);
      expect(readdirSync(folder).filter((name) => name.endsWith(".json"))).toHaveLength(1);
    } finally {
      rmSync(folder, { recursive: true, maxRetries: 20, retryDelay: 50 });
    }
  });
});

describe.skipIf(!HAS_REDIS)("two processes on one Redis", PATIENCE, () => {
  it("hear of each other's changes, also after Redis was restarted in the middle", async () => {
    await using server = await RedisServer.start();
    await using own = redisStore(server.url, { timeoutMs: 30_000 });
    await using other = new StoreProcess("redis", server.url);
    const told: (string | undefined)[] = [];
    await own.watch?.((key) => told.push(key));
    await other.watch();

    await other.set("theirs", 1);
    await own.set("ours", 2);
    await eventually(() => told.length === 1 && other.told.length === 1);
    expect([told, other.told]).toEqual([["theirs"], ["ours"]]);
    expect([await own.get("theirs"), await other.get("ours")]).toEqual([1, 2]);

    await server.kill();
    await server.start();
    await eventually(() => told.length === 2 && other.told.length === 2);
    await other.delete("theirs");
    await own.set("again", 3);
    await eventually(() => told.length === 3 && other.told.length === 3);
    expect([told, other.told]).toEqual([
      ["theirs", undefined, "theirs"],
      ["ours", null, "again"],
    ]);
    expect([await own.get("ours"), await other.get("again")]).toEqual([undefined, 3]);
  });
});
