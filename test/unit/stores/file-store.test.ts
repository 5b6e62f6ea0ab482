import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { asideOf, entryFileOf } from "../../../src/stores/drivers/entry-file.js";
import { fileStore } from "../../../src/stores/index.js";
import { eventually, failureOf, times } from "../../fixtures/clients.js";

const run = promisify(execFile);

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "file-store-"));
  folder = join(root, "deep/cache");
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

function warningsInto(warnings: string[]) {
  return { ...console, warn: (message: string) => void warnings.push(message) };
}

describe("the folder of a file store", () => {
  it("is made with the first entry, for its owner alone", async () => {
    await using store = fileStore(folder);
    expect(await store.get("k")).toBeUndefined();
    expect(await store.list("")).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    await store.set("k", 1);
    expect([modeOf(folder), modeOf(join(folder, entryFileOf("k")))]).toEqual(["700", "600"]);
  });

  it("is made again when somebody removes it", async () => {
    await using store = fileStore(folder);
    await store.set("k", 1);
    rmSync(folder, { recursive: true });
    expect(await store.get("k")).toBeUndefined();
    await store.set("k", 2);
    expect(await store.get("k")).toBe(2);
  });

  it("is warned about, once, where others can write into it", async () => {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o777);
    const warnings: string[] = [];
    await using store = fileStore(folder, { logger: warningsInto(warnings) });
    await store.set("a", 1);
    await store.set("b", 1);
    expect(warnings).toEqual([`Other users can write into the folder ${folder} of a file store.`]);
    expect(modeOf(folder)).toBe("777");
  });

  it.each([[""], [7], [undefined]])("cannot be %j", (path) => {
    expect(() => fileStore(path as string)).toThrow("folder: expected the path of a folder");
  });
});

describe("a file store", () => {
  it("keeps nothing but whole entries, named by no key", async () => {
    await using store = fileStore(folder);
    await Promise.all(times(30, (n) => store.set(`secret/${n % 3}`, n)));
    const names = readdirSync(folder);
    expect(names).toHaveLength(3);
    expect(names.every((name) => /^[0-9a-f]{64}\.json$/.test(name))).toBe(true);
  });

  it("keeps its entries for the next run", async () => {
    await using before = fileStore(folder);
    await before.set("k", { a: 1 });
    await before.close();
    await using after = fileStore(folder);
    expect(await after.get("k")).toEqual({ a: 1 });
  });

  it("follows no link, waits for no pipe, reads no folder", async () => {
    await using store = fileStore(folder, { logger: warningsInto([]) });
    await store.set("real", "elsewhere");
    symlinkSync(join(folder, entryFileOf("real")), join(folder, entryFileOf("link")));
    mkdirSync(join(folder, entryFileOf("folder")));
    await run("mkfifo", [join(folder, entryFileOf("pipe"))]);
    expect(await store.get("link")).toBeUndefined();
    expect(await store.get("pipe")).toBeUndefined();
    expect(await store.get("folder")).toBeUndefined();
    expect(await store.list("")).toEqual(["real"]);
    await store.set("link", "own");
    expect(await store.get("link")).toBe("own");
    expect(await store.get("real")).toBe("elsewhere");
  });

  it("lists no file that lies about its key", async () => {
    await using store = fileStore(folder);
    await store.set("k", 1);
    writeFileSync(join(folder, entryFileOf("other")), readFileSync(join(folder, entryFileOf("k"))));
    writeFileSync(join(folder, "notes.json"), "mine");
    expect(await store.list("")).toEqual(["k"]);
  });

  it("says what is wrong with a place that takes no files, and leaves nothing there", async () => {
    writeFileSync(join(root, "taken"), "");
    await using store = fileStore(join(root, "taken"));
    const errors = await Promise.all([store.set("k", "canary"), store.get("k")].map(failureOf));
    expect(errors.map(({ kind }) => kind)).toEqual(["unavailable", "unavailable"]);
    expect(errors[0]?.message).toBe(
      `The file store in ${join(root, "taken")} could not write "k" (EEXIST). Is it there, and is it well?`,
    );
    expect(readdirSync(root)).toEqual(["taken"]);
  });
});

describe("what a file store sweeps", () => {
  it("is what has expired, a while later; it is not gone before", async () => {
    let now = Date.now();
    await using writer = fileStore(folder, { now: () => now });
    await writer.set("short", 1, { ttlMs: 1_000 });
    await writer.set("long", 1, { ttlMs: 3_600_000 });
    await writer.set("for ever", 1);
    now += 30_000;
    await using early = fileStore(folder, { now: () => now });
    await early.set("early", 1);
    await early.close();
    expect(existsSync(join(folder, entryFileOf("short")))).toBe(true);
    now += 60_000;
    await using late = fileStore(folder, { now: () => now });
    await late.set("late", 1);
    await eventually(() => !existsSync(join(folder, entryFileOf("short"))));
    await late.close();
    expect(await writer.list("")).toEqual(["early", "for ever", "late", "long"]);
    expect(readdirSync(folder)).toHaveLength(4);
  });

  it("is what a writer left that died, and nothing that is not its own", async () => {
    mkdirSync(folder, { recursive: true });
    const abandoned = asideOf(join(folder, entryFileOf("a")));
    const fresh = asideOf(join(folder, entryFileOf("b")));
    const foreign = ["notes.json", "notes.tmp", entryFileOf("c")];
    for (const path of [abandoned, fresh, ...foreign.map((name) => join(folder, name))])
      writeFileSync(path, "half");
    const longAgo = Date.now() / 1000 - 7_200;
    for (const name of [abandoned, ...foreign.map((file) => join(folder, file))])
      utimesSync(name, longAgo, longAgo);
    await using store = fileStore(folder);
    await store.set("k", 1);
    await eventually(() => !existsSync(abandoned));
    await store.close();
    expect(existsSync(fresh)).toBe(true);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(foreign));
  });

  it("is done again after a while, in a store that lives long", async () => {
    let now = Date.now();
    await using store = fileStore(folder, { now: () => now });
    await store.set("short", 1, { ttlMs: 1_000 });
    now += 500_000;
    await store.set("k", 1);
    now += 200_000;
    await store.set("k", 2);
    await eventually(() => !existsSync(join(folder, entryFileOf("short"))));
  });
});
