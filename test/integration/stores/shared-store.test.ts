import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fileStore, redisStore } from "../../../src/stores/index.js";
import { eventually, times } from "../../fixtures/clients.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";
import { StoreProcess } from "../../fixtures/store-process.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** Starting two compilers and two processes is slow on a busy machine. */
const LONG_TIMEOUT = { timeout: 60_000 };

/** Large enough to be written in several chunks; every part is by the same writer. */
function createValue(writer: string, n: number): { readonly writer: string; readonly parts: string[] } {
  return { writer: `${writer}${n}`, parts: times(500, () => `${writer}${n}`.repeat(40)) };
}

function isComplete(value: unknown): boolean {
  const { writer, parts } = value as ReturnType<typeof createValue>;
  return parts.length === 500 && parts.every((part) => part === writer.repeat(40));
}

describe("two processes on one file store", LONG_TIMEOUT, () => {
  it("lose no entries and never read a partial file", async () => {
    using folder = new TemporaryFolder();
    await using own = fileStore(folder.path, { timeoutMs: 30_000 });
    await using first = new StoreProcess("file", folder.path);
    await using second = new StoreProcess("file", folder.path);
    await own.set("contended", createValue("own", 0));
    await Promise.all([first.get("contended"), second.get("contended")]);
    const reads: unknown[] = [];
    const writeAndRead = async (name: string, store: StoreProcess) => {
      for (const n of times(60, (index) => index)) {
        await Promise.all([store.set("contended", createValue(name, n)), store.set(`${name}/${n}`, n)]);
        reads.push(await own.get("contended"));
      }
    };
    await Promise.all([writeAndRead("first", first), writeAndRead("second", second)]);
    expect(reads).toHaveLength(120);
    expect(reads.filter((value) => !isComplete(value))).toEqual([]);
    expect(await first.list("second/")).toHaveLength(60);
    expect(await second.list("first/")).toHaveLength(60);
    expect(await Promise.all(times(60, (n) => own.get(`first/${n}`)))).toEqual(times(60, (n) => n));
  });

  it("a process that is killed while writing does not corrupt entries", async () => {
    using folder = new TemporaryFolder();
    await using own = fileStore(folder.path, { timeoutMs: 30_000 });
    await own.set("k", createValue("own", 0));
    await using killed = new StoreProcess("file", folder.path);
    await killed.set("k", createValue("killed", 0));
    for (const n of times(200, (index) => index + 1)) void killed.set("k", createValue("killed", n));
    await eventually(async () => JSON.stringify(await own.get("k")).includes("killed1"));
    killed.kill();
    expect(isComplete(await own.get("k"))).toBe(true);
    await own.set("k", createValue("own", 1));
    expect(isComplete(await own.get("k"))).toBe(true);
    expect(await own.list("")).toEqual(["k"]);
    expect(readdirSync(folder.path).filter((name) => name.endsWith(".json"))).toHaveLength(1);
  });
});

describe.skipIf(!HAS_REDIS)("two processes on one Redis", LONG_TIMEOUT, () => {
  it("receive each other's changes, even after a restart of Redis", async () => {
    await using server = await RedisServer.start();
    await using own = redisStore(server.url, { timeoutMs: 30_000 });
    await using other = new StoreProcess("redis", server.url);
    const changes: (string | undefined)[] = [];
    await own.watch?.((key) => changes.push(key));
    await other.watch();

    await other.set("remote", 1);
    await own.set("local", 2);
    await eventually(() => changes.length === 1 && other.changes.length === 1);
    expect([changes, other.changes]).toEqual([["remote"], ["local"]]);
    expect([await own.get("remote"), await other.get("local")]).toEqual([1, 2]);

    await server.kill();
    await server.start();
    await eventually(() => changes.length === 2 && other.changes.length === 2);
    await other.delete("remote");
    await own.set("again", 3);
    await eventually(() => changes.length === 3 && other.changes.length === 3);
    expect([changes, other.changes]).toEqual([
      ["remote", undefined, "remote"],
      ["local", null, "again"],
    ]);
    expect([await own.get("local"), await other.get("again")]).toEqual([undefined, 3]);
  });
});
