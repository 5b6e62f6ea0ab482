import { readFileSync } from "node:fs";
import { defineConfig } from "rolldown";

const { bin, exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const published = [...Object.values(bin), ...Object.values(exports).map((entry) => entry.default)];
const entries = published
  .filter((file) => file !== undefined)
  .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, "$1"));

/** Modules that the main entry point imports statically, and that load no part of LangChain: the command line uses them, too. */
const RUNTIME =
  /build[\\/](?:config[\\/](?!files)|json-schema[\\/]|telemetry[\\/](?!opentelemetry)|client[\\/]|catalog[\\/]|manager[\\/])/;

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
    codeSplitting: {
      groups: [
        // Small modules that every entry point and the help of the command line need: one file instead of fifteen.
        {
          name: "core",
          test: /build[\\/](?:async|errors|json|config[\\/]message-transport)(?:[\\/]|\.js)/,
          priority: 2,
        },
        // What an import of the package loads: one file instead of twenty.
        { name: "runtime", test: RUNTIME, priority: 1 },
      ],
    },
  },
});
