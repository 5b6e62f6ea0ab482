import { exec } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The commands that a script of `package.json` runs one after the other. */
function getCommands(script: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  return scripts[script]?.split(" && ") ?? [];
}

/**
 * Settings of compilers that are written in Go: a thread has types of its own, so that several do the same work several
 * times, and a larger heap needs less garbage collection.
 */
const GO_SETTINGS = { GOMAXPROCS: "1", GOGC: "400" };

/** Returns the output of a command that fails; empty if it passes. */
function getFailure(command: string): Promise<string> {
  const PATH = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  return new Promise((resolve) => {
    exec(command, { cwd: root, env: { ...process.env, ...GO_SETTINGS, PATH } }, (error, stdout, stderr) =>
      resolve(error === null ? "" : `${error.message}\n${stdout}${stderr}`),
    );
  });
}

/** Beside the other tests, which leave cores idle while they wait. Needs `npm run build`. */
describe.each(["check", "check:package"])("npm run %s", { timeout: 300_000 }, (script) => {
  it.each(getCommands(script))("%s", async (command) => {
    expect(await getFailure(command)).toBe("");
  });
});
