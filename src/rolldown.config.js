import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig } from "rolldown";

const { bin, exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const published = [...Object.values(bin), ...Object.values(exports).map((entry) => entry.default)];
const entries = published
  .filter((file) => file !== undefined)
  .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, "$1"));

/** Packages stay external: users share them with other code, or have not installed them. */
const external = /^(?![./\0]|[A-Za-z]:[\\/])/;

/** Small modules that every entry point and the help of the command line need. */
const CORE = /build[\\/](?:async|errors|json|config[\\/]message-transport)(?:[\\/]|\.js)/;

/**
 * This module imports CommonJS files of undici. Node scans the whole text of a CommonJS file that is
 * imported by an ES module, but not of one that is required, so it becomes a CommonJS file itself.
 */
const UNDICI = {
  input: "build/net/undici-dispatchers.js",
  file: "dist/chunks/undici-dispatchers.cjs",
  /** As seen from the other chunks. */
  id: "./undici-dispatchers.cjs",
};

/**
 * What is loaded together is one file, because loading is dominated by the number of files: "runtime" and
 * "tools" with an import of the package, "connection" with the first request of a client, and "http" with
 * it if the server has an HTTP address. The command line loads "runtime", which therefore loads no part of
 * LangChain.
 */
function createChunkNames(bundle) {
  const collect = (file, found = new Set()) => {
    const id = resolve("build", file);
    if (found.has(id)) return found;
    found.add(id);
    for (const imported of bundle.getModuleInfo(id)?.importedIds ?? [])
      if (!external.test(imported)) collect(imported, found);
    return found;
  };
  const usesLangChain = (id) =>
    [...collect(id)].some((each) =>
      bundle.getModuleInfo(each)?.importedIds.some((imported) => imported.startsWith("@langchain/")),
    );
  const http = collect("transports/http/http-transport-factory.js");
  const stdio = collect("transports/stdio/stdio-transport.js");
  const connection = collect("session/connection.js");
  const names = new Map([...http].map((id) => [id, "http"]));
  for (const id of http) if (stdio.has(id)) names.set(id, "connection");
  for (const id of connection) names.set(id, "connection");
  for (const id of collect("index.js")) names.set(id, usesLangChain(id) ? "tools" : "runtime");
  names.delete(resolve("build/index.js"));
  return names;
}

let chunkNames;

/** Bundles the output of tsc into few files. */
const modules = defineConfig({
  input: Object.fromEntries(entries.map((entry) => [entry, `build/${entry}.js`])),
  platform: "node",
  external,
  plugins: [
    {
      name: "undici-dispatchers",
      resolveId: (id) =>
        id.endsWith("/undici-dispatchers.js") ? { id: UNDICI.id, external: "absolute" } : null,
    },
    {
      // V8 parses a file faster if all of its characters have one byte.
      name: "ascii",
      generateBundle(_, files) {
        for (const file of Object.values(files))
          file.code = file.code.replace(
            /[^\0-\x7f]/g,
            (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
          );
      },
    },
  ],
  output: {
    dir: "dist",
    chunkFileNames: "chunks/[name].js",
    // API comments are in the .d.ts files; here they would only slow down the import.
    comments: { jsdoc: false },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: "core", test: CORE, priority: 1 },
        {
          debugName: "startup",
          name: (id, bundle) => (chunkNames ??= createChunkNames(bundle)).get(id) ?? null,
        },
      ],
    },
  },
});

const undici = defineConfig({
  input: UNDICI.input,
  platform: "node",
  external,
  output: { file: UNDICI.file, format: "cjs" },
});

export default [modules, undici];
