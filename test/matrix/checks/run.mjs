// Runs one check in the folder where the package is installed: node checks/run.mjs <check> import|require
import { createRequire } from "node:module";

const [, , name, mode] = process.argv;
const { check, packages } = await import(`./${name}.mjs`);
const require = createRequire(import.meta.url);
const modules = {};
for (const specifier of packages)
  modules[specifier] = mode === "require" ? require(specifier) : await import(specifier);
const result = await check(modules);
if (result !== "works") throw new Error(`expected "works", got ${JSON.stringify(result)}`);
