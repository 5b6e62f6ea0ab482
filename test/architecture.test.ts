import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findViolations, readSource } from "./fixtures/layers.js";

describe("the source", () => {
  it("follows the architecture rules", () => {
    const files = readSource(fileURLToPath(new URL("../src", import.meta.url)));
    expect(files.length).toBeGreaterThan(30);
    expect(findViolations(files)).toEqual([]);
  });
});

describe("a violation is found:", () => {
  it.each([
    ["an import from a higher layer", "session/a.ts", `import { b } from "../client/b.js";`, "lower layer"],
    [
      "a type import from a higher layer",
      "session/a.ts",
      `import type { B } from "../client/b.js";`,
      "lower layer",
    ],
    [
      "a dynamic import from a higher layer",
      "session/a.ts",
      `await import("../client/b.js");`,
      "lower layer",
    ],
    ["an import from the same layer", "net/a.ts", `import { b } from "../stores/b.js";`, "lower layer"],
    ["a re-export from a higher layer", "errors/a.ts", `export { b } from "../client/b.js";`, "lower layer"],
    [
      "an import of a nested module from its parent",
      "telemetry/a.ts",
      `import { b } from "./opentelemetry/b.js";`,
      "lower layer",
    ],
    [
      "a package that the module may not use",
      "client/a.ts",
      `import { Client } from "@modelcontextprotocol/sdk/client/index.js";`,
      "not allowed",
    ],
    ["a dynamic import of such a package", "client/a.ts", `await import("undici");`, "not allowed"],
    ["an unknown package", "transports/a.ts", `import axios from "axios";`, "not allowed"],
    ["a side-effect import", "client/a.ts", `import "undici";`, "not allowed"],
    [
      "a static import of an optional peer",
      "transports/a.ts",
      `import { WebSocket } from "ws";`,
      "optional peer",
    ],
    ["an unknown module", "attic/a.ts", "", 'unknown module "attic"'],
    ["a file name without meaning", "session/utils.ts", "", "does not say what is inside"],
    ["a long file", "session/a.ts", "a();\n".repeat(401), "401 lines of code"],
    ["an interface named Parts", "session/a.ts", "interface SessionParts {}", "SessionParts"],
    ["a constant named MOST_", "session/a.ts", "const MOST_WARNINGS = 5;", "use MAX_"],
    ["a comment about somebody", "session/a.ts", "// Whoever asks.", "name the caller"],
    ["a stage direction", "session/a.ts", "function letGo() {}", "the verb for what it does"],
  ])("%s", (_, path, text, expected) => {
    expect(findViolations([{ path, text }])).toEqual([expect.stringContaining(expected)]);
  });

  it("a folder with too many files", () => {
    const files = Array.from({ length: 21 }, (_, index) => ({ path: `session/a${index}.ts`, text: "" }));
    expect(findViolations(files)).toEqual(["session/: 21 files (at most 20)"]);
  });

  it("an import cycle", () => {
    const files = [
      { path: "session/a.ts", text: `import { b } from "./b.js";` },
      { path: "session/b.ts", text: `import type { A } from "./a.js";` },
    ];
    expect(findViolations(files)).toEqual(["cycle: session/a.ts -> session/b.ts -> session/a.ts"]);
  });

  it("and allowed imports are not reported", () => {
    const files = [
      {
        path: "client/a.ts",
        text: `import type { Client } from "@modelcontextprotocol/sdk/client/index.js";`,
      },
      {
        path: "transports/a.ts",
        text: `import type { WebSocket } from "ws";\nawait import("ws");`,
      },
      {
        path: "session/b.ts",
        text: `import { join } from "node:path";\nimport { e } from "../errors/e.js";`,
      },
    ];
    expect(findViolations(files)).toEqual([]);
  });

  it("long comments and blank lines do not count as code", () => {
    const text = "// a comment\n\n".repeat(401);
    expect(findViolations([{ path: "session/a.ts", text }])).toEqual([]);
  });
});
