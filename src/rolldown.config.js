import { readFileSync } from "node:fs";
import { defineConfig } from "rolldown";

const { bin, exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const published = [...Object.values(bin), ...Object.values(exports).map((entry) => entry.default)];
const entries = published
  .filter((file) => file !== undefined)
  .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, "$1"));

/** Makes few files of what tsc wrote: a process that imports the package waits mostly for the reading of files. */
export default defineConfig({
  input: Object.fromEntries(entries.map((entry) => [entry, `build/${entry}.js`])),
  platform: "node",
  // Packages stay what they are: users share them with other code, or have not installed them.
  external: /^(?![./\0]|[A-Za-z]:[\\/])/,
  output: { dir: "dist", chunkFileNames: "chunks/[name].js" },
});
