import { readFileSync } from "node:fs";
import { defineConfig } from "rolldown";

const { bin, exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const published = [...Object.values(bin), ...Object.values(exports).map((entry) => entry.default)];
const entries = published
  .filter((file) => file !== undefined)
  .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, "$1"));

/** Bundles the output of tsc into few files, because importing the package is dominated by reading files. */
export default defineConfig({
  input: Object.fromEntries(entries.map((entry) => [entry, `build/${entry}.js`])),
  platform: "node",
  // Packages stay external: users share them with other code, or have not installed them.
  external: /^(?![./\0]|[A-Za-z]:[\\/])/,
  output: {
    dir: "dist",
    chunkFileNames: "chunks/[name].js",
    // API comments are in the .d.ts files; here they would only slow down the import.
    comments: { jsdoc: false },
    // Small modules that every entry point needs: one file instead of fifteen.
    codeSplitting: { groups: [{ name: "core", test: /build[\\/](?:async|errors|json)[\\/]/ }] },
  },
});
