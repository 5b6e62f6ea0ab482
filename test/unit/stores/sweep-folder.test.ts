import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileStore } from "../../../src/stores/index.js";
import { sweepFolder } from "../../../src/stores/drivers/sweep-folder.js";
import { times } from "../../fixtures/clients.js";

it("concurrent sweeps do not remove entries that are written meanwhile", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sweep-"));
  try {
    const start = Date.now();
    await using store = fileStore(folder);
    const keys = times(20, (n) => `k${n}`);
    for (const key of keys) await store.set(key, "old", { ttlMs: 1 });
    const sweeps = times(5, () => sweepFolder(folder, { now: start + 600_000, isCancelled: () => false }));
    await Promise.all([...sweeps, ...keys.map((key) => store.set(key, "new"))]);
    expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(keys.map(() => "new"));
    await store.close();
    expect(readdirSync(folder)).toHaveLength(keys.length);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
