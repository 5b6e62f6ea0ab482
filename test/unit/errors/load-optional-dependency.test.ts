import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { loadOptionalDependency, MINIMUM_VERSIONS } from "../../../src/errors/load-optional-dependency.js";
import { rejection } from "../../fixtures/clients.js";
import { MATRIX } from "../../matrix/rows.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** Imports a module from an empty folder, to get Node's own error for a missing module. */
async function importFailing(specifier: string): Promise<unknown> {
  using folder = new TemporaryFolder();
  const file = join(folder.path, "importer.mjs");
  writeFileSync(file, `export const load = () => import(${JSON.stringify(specifier)});`);
  mkdirSync(join(folder.path, "node_modules/broken-peer"), { recursive: true });
  writeFileSync(join(folder.path, "node_modules/broken-peer/index.js"), `require("its-own-dependency");`);
  const importer = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    load: () => Promise<unknown>;
  };
  return await importer.load();
}

describe("an optional dependency", () => {
  it("is returned when it is installed", async () => {
    const path = await loadOptionalDependency("node:path", {
      neededBy: "This test",
      load: () => import("node:path"),
    });
    expect(path.join("a", "b")).toBe(join("a", "b"));
  });

  it("that is missing causes an error that names the package to install", async () => {
    const load = () => importFailing("no-such-peer");
    const error = await rejection(
      loadOptionalDependency("no-such-peer", { neededBy: "A Redis store", load }),
    );
    expect(error).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining("npm install no-such-peer"),
    });
    expect(error.cause).toMatchObject({ code: "ERR_MODULE_NOT_FOUND" });
  });

  it("with a missing dependency of its own is not reported as missing", async () => {
    const load = () => importFailing("broken-peer");
    const error = await rejection(loadOptionalDependency("broken-peer", { neededBy: "A Redis store", load }));
    expect(error).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining('"broken-peer", which is installed'),
    });
    expect(String(error.cause)).toContain("its-own-dependency");
  });
});

describe("the minimum versions of optional dependencies", () => {
  const versionsIn = (packages: readonly string[]) =>
    packages.flatMap((text) => {
      const [, name = "", version = ""] = /^(.+)@([\d.]+)$/.exec(text) ?? [];
      return name in MINIMUM_VERSIONS ? [[name, version] as const] : [];
    });

  it("are those that the install matrix tests", () => {
    const oldest = MATRIX.filter(({ name }) => name.startsWith("oldest"));
    const tested = Object.fromEntries(oldest.flatMap(({ packages }) => versionsIn(packages)));
    expect(tested).toEqual(MINIMUM_VERSIONS);
  });
});
