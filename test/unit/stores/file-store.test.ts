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
import { tempPathFor, entryFileName } from "../../../src/stores/drivers/file-store.js";
import { fileStore } from "../../../src/stores/index.js";
import { eventually, rejection, times } from "../../fixtures/clients.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

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

function getMode(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

describe("the folder of a file store", () => {
  it("is created with the first entry, accessible only to its owner", async () => {
    await using store = fileStore(folder);
    expect(await store.get("k")).toBeUndefined();
    expect(await store.list("")).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    await store.set("k", 1);
    expect([getMode(folder), getMode(join(folder, entryFileName("k")))]).toEqual(["700", "600"]);
  });

  it("is recreated after it was removed", async () => {
    await using store = fileStore(folder);
    await store.set("k", 1);
    rmSync(folder, { recursive: true });
    expect(await store.get("k")).toBeUndefined();
    await store.set("k", 2);
    expect(await store.get("k")).toBe(2);
  });

  it("causes one warning if other users can write to it", async () => {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o777);
    const logger = new RecordingLogger();
    await using store = fileStore(folder, { logger });
    await store.set("a", 1);
    await store.set("b", 1);
    expect(logger.warnings).toEqual([`Other users can write to the folder ${folder} of a file store.`]);
    expect(getMode(folder)).toBe("777");
  });

  it.each([[""], [7], [undefined]])("cannot be %j", (path) => {
    expect(catchConfigError(() => fileStore(path as string)).issues).toMatchObject([{ path: "folder" }]);
  });
});

describe("a file store", () => {
  it("contains only complete entries, whose names do not reveal keys", async () => {
    await using store = fileStore(folder);
    await Promise.all(times(30, (n) => store.set(`secret/${n % 3}`, n)));
    const names = readdirSync(folder);
    expect(names).toHaveLength(3);
    expect(names.every((name) => /^[0-9a-f]{64}\.json$/.test(name))).toBe(true);
  });

  it("keeps its entries across instances", async () => {
    await using before = fileStore(folder);
    await before.set("k", { a: 1 });
    await before.close();
    await using after = fileStore(folder);
    expect(await after.get("k")).toEqual({ a: 1 });
  });

  it("ignores symbolic links, pipes and folders", async () => {
    await using store = fileStore(folder, { logger: new RecordingLogger() });
    await store.set("real", "original");
    symlinkSync(join(folder, entryFileName("real")), join(folder, entryFileName("link")));
    mkdirSync(join(folder, entryFileName("folder")));
    await run("mkfifo", [join(folder, entryFileName("pipe"))]);
    expect(await store.get("link")).toBeUndefined();
    expect(await store.get("pipe")).toBeUndefined();
    expect(await store.get("folder")).toBeUndefined();
    expect(await store.list("")).toEqual(["real"]);
    await store.set("link", "replaced");
    expect(await store.get("link")).toBe("replaced");
    expect(await store.get("real")).toBe("original");
  });

  it("does not list files whose name does not match their key", async () => {
    await using store = fileStore(folder);
    await store.set("k", 1);
    writeFileSync(join(folder, entryFileName("other")), readFileSync(join(folder, entryFileName("k"))));
    writeFileSync(join(folder, "notes.json"), "text");
    expect(await store.list("")).toEqual(["k"]);
  });

  it("reports a path that is not a folder, and leaves nothing there", async () => {
    writeFileSync(join(root, "file"), "");
    await using store = fileStore(join(root, "file"));
    const errors = await Promise.all([store.set("k", "canary"), store.get("k")].map(rejection));
    expect(errors.map(({ kind }) => kind)).toEqual(["unavailable", "unavailable"]);
    expect(errors[0]).toMatchObject({
      message: expect.stringContaining(join(root, "file")),
      cause: { code: "EEXIST" },
    });
    expect(errors[0]?.message).toContain("Check that it is a folder");
    expect(readdirSync(root)).toEqual(["file"]);
  });
});

describe("the sweep of a file store", () => {
  it("removes entries some time after they expire, not before", async () => {
    let now = Date.now();
    await using writer = fileStore(folder, { now: () => now });
    await writer.set("short", 1, { ttlMs: 1_000 });
    await writer.set("long", 1, { ttlMs: 3_600_000 });
    await writer.set("forever", 1);
    now += 30_000;
    await using early = fileStore(folder, { now: () => now });
    await early.set("early", 1);
    await early.close();
    expect(existsSync(join(folder, entryFileName("short")))).toBe(true);
    now += 60_000;
    await using late = fileStore(folder, { now: () => now });
    await late.set("late", 1);
    await eventually(() => !existsSync(join(folder, entryFileName("short"))));
    await late.close();
    expect(await writer.list("")).toEqual(["early", "forever", "late", "long"]);
    expect(readdirSync(folder)).toHaveLength(4);
  });

  it("removes temporary files of crashed writers, and no foreign files", async () => {
    mkdirSync(folder, { recursive: true });
    const abandoned = tempPathFor(join(folder, entryFileName("a")));
    const fresh = tempPathFor(join(folder, entryFileName("b")));
    const foreign = ["notes.json", "notes.tmp", entryFileName("c")];
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

  it("is repeated in a long-lived store", async () => {
    let now = Date.now();
    await using store = fileStore(folder, { now: () => now });
    await store.set("short", 1, { ttlMs: 1_000 });
    now += 500_000;
    await store.set("k", 1);
    now += 200_000;
    await store.set("k", 2);
    await eventually(() => !existsSync(join(folder, entryFileName("short"))));
  });
});
