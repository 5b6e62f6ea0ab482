import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseServers } from "../../../src/config/parse-server.js";
import { arbitraryValue } from "../../fixtures/arbitrary-value.js";
import { assertOnlyConfigErrors } from "../../fixtures/catch-config-error.js";

const parseOrReject = (json: unknown) => assertOnlyConfigErrors(() => parseServers(json));

const KEYS =
  "type transport url command functionName openTransport server headers args env cwd timeouts session " +
  "limits retry circuitBreaker protocol classify __proto__ other";
const TRANSPORTS = ["http", "sse", "stdio", "websocket", "lambda", "custom", "in-process"];
const knownValue = fc.constantFrom(...TRANSPORTS, "https://ann:pw@x.test/?k=v", "wss://x.test", "");

/** Almost valid definitions: known keys with arbitrary values. */
function nearMisses(value: fc.Arbitrary<unknown>) {
  const definition = fc.dictionary(fc.constantFrom(...KEYS.split(" ")), fc.oneof(knownValue, value), {
    maxKeys: 6,
  });
  return fc.dictionary(fc.string(), fc.oneof({ weight: 4, arbitrary: definition }, value));
}

const leaf = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.array(fc.string()));
const jsonValue = fc.jsonValue({ maxDepth: 4 });

describe("parseServers throws only errors of kind invalid-config", () => {
  it("for any string", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), parseOrReject));
  });

  it("for any JSON string", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 4 }), parseOrReject));
  });

  it("for any JSON value", () => {
    fc.assert(fc.property(jsonValue, parseOrReject));
  });

  it("for any object", () => {
    fc.assert(fc.property(arbitraryValue, parseOrReject));
  });

  it("for almost valid definitions with any JSON in them", () => {
    const examples: [unknown][] = [[{ a: { url: { toString: 1 } } }]];
    fc.assert(fc.property(nearMisses(jsonValue), parseOrReject), { examples, numRuns: 500 });
  });

  it("for almost valid definitions with any value in them", () => {
    const examples: [unknown][] = [[{ a: { type: 1n } }], [{ a: { url: Object.create(null) as unknown } }]];
    fc.assert(fc.property(nearMisses(arbitraryValue), parseOrReject), { examples, numRuns: 500 });
  });

  it.each(["type", "url"])("for very deep nesting in %s", (key) => {
    parseOrReject(`{"a":{"${key}":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`);
  });
});

describe("the input is never changed", () => {
  it("whether it is valid or not", () => {
    fc.assert(
      fc.property(nearMisses(leaf), (servers) => {
        const before = fc.stringify(servers);
        parseOrReject(servers);
        expect(fc.stringify(servers)).toBe(before);
      }),
    );
  });

  it("and may be deeply frozen", () => {
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
