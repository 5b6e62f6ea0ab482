import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findViolations, readSource } from "./support/house.js";

describe("the house", () => {
  it("breaks none of its own rules", () => {
    const files = readSource(fileURLToPath(new URL("../src", import.meta.url)));
    expect(files.length).toBeGreaterThan(30);
    expect(findViolations(files)).toEqual([]);
  });
});

describe("a rule that is broken is found", () => {
  it.each([
    ["an import upward", "session/a.ts", `import { b } from "../client/b.js";`, "not below it"],
    [
      "an import upward, of a type",
      "session/a.ts",
      `import type { B } from "../client/b.js";`,
      "not below it",
    ],
    ["an import upward, on demand", "session/a.ts", `await import("../client/b.js");`, "not below it"],
    ["an import sideways", "transports/a.ts", `import { b } from "../policies/b.js";`, "not below it"],
    ["a re-export upward", "errors/a.ts", `export { b } from "../client/b.js";`, "not below it"],
    [
      "a package without a door",
      "client/a.ts",
      `import { Client } from "@modelcontextprotocol/sdk/client/index.js";`,
      "no door",
    ],
    ["a package without a door, on demand", "client/a.ts", `await import("undici");`, "no door"],
    ["a package nobody knows", "transports/a.ts", `import axios from "axios";`, "no door"],
    ["a side-effect import", "client/a.ts", `import "undici";`, "no door"],
    [
      "an optional package, at once",
      "transports/a.ts",
      `import { WebSocket } from "ws";`,
      "which is optional",
    ],
    ["an unknown room", "attic/a.ts", "", 'no room "attic"'],
    ["a drawer", "session/utils.ts", "", "a drawer"],
    ["a long file", "session/a.ts", "\n".repeat(251), "251 lines"],
  ])("%s", (_, path, text, expected) => {
    expect(findViolations([{ path, text }])).toEqual([expect.stringContaining(expected)]);
  });

  it("a cycle", () => {
    const files = [
      { path: "session/a.ts", text: `import { b } from "./b.js";` },
      { path: "session/b.ts", text: `import type { A } from "./a.js";` },
    ];
    expect(findViolations(files)).toEqual(["cycle: session/a.ts -> session/b.ts -> session/a.ts"]);
  });

  it("and what is allowed is not", () => {
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
});
