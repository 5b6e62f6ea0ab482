import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseServers } from "../../../src/config/parse-server.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";

/** Parses, and lets nothing pass but a result or an error of kind `definition` with its issues. */
function parseOrRefuse(json: unknown): void {
  try {
    parseServers(json);
  } catch (error) {
    if (!(error instanceof McpRuntimeError) || error.kind !== "invalid-config") throw error;
    expect(error.issues).not.toEqual([]);
  }
}

const KEYS =
  "type transport url command functionName openTransport server headers args env cwd timeouts session " +
  "limits retry breaker protocol classify __proto__ other";
const WORDS = ["http", "sse", "stdio", "websocket", "lambda", "custom", "in-process"];
const word = fc.constantFrom(...WORDS, "https://ann:pw@x.test/?k=v", "wss://x.test", "");

/** Objects that look like definitions from afar, with values that may be anything. */
function nearMisses(value: fc.Arbitrary<unknown>) {
  const definition = fc.dictionary(fc.constantFrom(...KEYS.split(" ")), fc.oneof(word, value), {
    maxKeys: 6,
  });
  return fc.dictionary(fc.string(), fc.oneof({ weight: 4, arbitrary: definition }, value));
}

const leaf = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.array(fc.string()));
const jsonValue = fc.jsonValue({ maxDepth: 4 });
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
});

describe("parseServers throws nothing but an error of kind definition", () => {
  it("for any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), parseOrRefuse));
  });

  it("for any JSON text", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 4 }), parseOrRefuse));
  });

  it("for any JSON value", () => {
    fc.assert(fc.property(jsonValue, parseOrRefuse));
  });

  it("for any object", () => {
    fc.assert(fc.property(anything, parseOrRefuse));
  });

  it("for anything that looks like a list of servers, with any JSON in it", () => {
    const examples: [unknown][] = [[{ a: { url: { toString: 1 } } }]];
    fc.assert(fc.property(nearMisses(jsonValue), parseOrRefuse), { examples, numRuns: 500 });
  });

  it("for anything that looks like a list of servers, with anything in it", () => {
    const examples: [unknown][] = [[{ a: { type: 1n } }], [{ a: { url: Object.create(null) as unknown } }]];
    fc.assert(fc.property(nearMisses(anything), parseOrRefuse), { examples, numRuns: 500 });
  });

  it.each(["type", "url"])("for JSON that is nested very deeply, in %s", (key) => {
    parseOrRefuse(`{"a":{"${key}":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`);
  });
});

describe("what was lent is never changed", () => {
  it("whether it is valid or not", () => {
    fc.assert(
      fc.property(nearMisses(leaf), (servers) => {
        const before = fc.stringify(servers);
        parseOrRefuse(servers);
        expect(fc.stringify(servers)).toBe(before);
      }),
    );
  });

  it("down to the last object, which may be frozen", () => {
    const servers = Object.freeze({
      a: Object.freeze({
        type: "http",
        url: "http://x.test",
        headers: Object.freeze({ "X-Key": "v" }),
        timeouts: Object.freeze({ connectMs: 1 }),
      }),
      b: Object.freeze({ command: "npx", args: Object.freeze(["-y"]), env: Object.freeze({ KEY: "v" }) }),
    });
    expect(Object.keys(parseServers(servers))).toEqual(["a", "b"]);
  });
});
