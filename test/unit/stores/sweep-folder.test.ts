import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { fileStore } from "../../../src/stores/index.js";
import { sweepFolder } from "../../../src/stores/drivers/file-store.js";
import { times } from "../../fixtures/clients.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

it("concurrent sweeps do not remove entries that are written meanwhile", async () => {
  using folder = new TemporaryFolder();
  const start = Date.now();
  await using store = fileStore(folder.path);
  const keys = times(20, (n) => `k${n}`);
  for (const key of keys) await store.set(key, "old", { ttlMs: 1 });
  const sweeps = times(5, () => sweepFolder(folder.path, { now: start + 600_000, isCancelled: () => false }));
  await Promise.all([...sweeps, ...keys.map((key) => store.set(key, "new"))]);
  expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(keys.map(() => "new"));
  await store.close();
  expect(readdirSync(folder.path)).toHaveLength(keys.length);
});
