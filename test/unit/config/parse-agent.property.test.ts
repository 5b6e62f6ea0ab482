import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAgent } from "../../../src/config/parse-agent.js";
import { arbitraryValue } from "../../fixtures/arbitrary-value.js";
import { assertOnlyConfigErrors } from "../../fixtures/catch-config-error.js";

const parseOrReject = (agent: unknown) => assertOnlyConfigErrors(() => parseAgent(agent));

const KEYS =
  "$resourceType resource_type name description slug folderPath folder_path isEnabled is_enabled availableTools " +
  "available_tools inputSchema outputSchema argumentProperties toolsConfiguration discoveryMode type allowAll " +
  "dynamicTools server variant value argumentPath tokens rawString isSensitive $.a __proto__ constructor other";
const knownValue = fc.constantFrom(
  "mcp",
  "cached",
  "dynamic",
  "all",
  "static",
  "argument",
  "textBuilder",
  "$['a']",
  "",
);

/** Almost valid agents: nested objects with known keys and arbitrary values. */
function nearMisses(value: fc.Arbitrary<unknown>) {
  const { node } = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.oneof(knownValue, value),
      fc.dictionary(fc.constantFrom(...KEYS.split(" ")), tie("node"), { maxKeys: 6 }),
      fc.array(tie("node"), { maxLength: 3 }),
    ),
  }));
  const resource = fc
    .dictionary(fc.constantFrom(...KEYS.split(" ")), node, { maxKeys: 8 })
    .map((keys) => Object.assign(keys, { $resourceType: "mcp" }));
  return fc.record({ resources: fc.oneof(fc.array(fc.oneof(resource, node), { maxLength: 4 }), node) });
}

function throwBoom(): never {
  throw new Error("boom");
}

/** Values that throw when they are accessed, and other hostile values. */
function createHostileValues(): unknown[] {
  const cyclic: Record<string, unknown> = { $resourceType: "mcp", name: "a" };
  Object.assign(cyclic, {
    server: cyclic,
    inputSchema: cyclic,
    availableTools: [cyclic],
    resources: [cyclic],
  });
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const { proxy: revokedList, revoke: revokeList } = Proxy.revocable([], {});
  revokeList();
  const traps = ["get", "has", "ownKeys", "getOwnPropertyDescriptor", "getPrototypeOf"] as const;
  const trapped = traps.flatMap((trap) => [
    new Proxy({ $resourceType: "mcp", name: "a" }, { [trap]: throwBoom }),
    new Proxy([1], { [trap]: throwBoom }),
  ]);
  const thrower = Object.defineProperty({}, "resources", { enumerable: true, get: throwBoom });
  return [cyclic, revoked, revokedList, ...trapped, thrower, Symbol("s"), 1n, throwBoom];
}

/** Replaces names by hostile values, because fast-check cannot handle values that throw when accessed. */
function withHostileValues(value: unknown, hostileValues: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string") return hostileValues.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => withHostileValues(item, hostileValues));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withHostileValues(item, hostileValues)]),
  );
}

describe("parseAgent throws only errors of kind invalid-config", () => {
  it("for any string", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), parseOrReject));
  });

  it("for any JSON string", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 4 }), parseOrReject));
  });

  it("for any object", () => {
    fc.assert(fc.property(arbitraryValue, parseOrReject));
  });

  it("for almost valid agents with any JSON in them", () => {
    fc.assert(fc.property(nearMisses(fc.jsonValue({ maxDepth: 2 })), parseOrReject), { numRuns: 1_000 });
  });

  it("for almost valid agents with any value in them", () => {
    fc.assert(fc.property(nearMisses(arbitraryValue), parseOrReject), { numRuns: 1_000 });
  });

  it("for almost valid agents with hostile values in them", () => {
    const hostileValues = new Map(createHostileValues().map((value, index) => [`hostile ${index}`, value]));
    const agents = nearMisses(fc.constantFrom(...hostileValues.keys()));
    fc.assert(
      fc.property(agents, (agent) => parseOrReject(withHostileValues(agent, hostileValues))),
      { numRuns: 1_000 },
    );
  });

  it("for hostile values", () => {
    for (const value of createHostileValues()) parseOrReject(value);
  });

  it.each(["name", "availableTools", "server", "toolsConfiguration"])(
    "for very deep nesting in %s",
    (key) => {
      const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
      parseOrReject(`{"resources":[{"$resourceType":"mcp","name":"a","${key}":${deep}}]}`);
      parseOrReject(`{"resources":[{"$resourceType":"mcp","name":"a","${key}":{"a":${deep}}}]}`);
    },
  );

  it.each(["inputSchema", "outputSchema", "argumentProperties"])(
    "for very deep nesting in the %s of a tool",
    (key) => {
      const deep = `${`{"a":`.repeat(100_000)}1${"}".repeat(100_000)}`;
      const tool = `{"name":"t","inputSchema":{},"${key}":${deep}}`;
      parseOrReject(`{"resources":[{"$resourceType":"mcp","name":"a","availableTools":[${tool}]}]}`);
    },
  );

  it("for deep nesting through shared objects", () => {
    const shared: unknown[] = [{}];
    for (let level = 0; level < 100_000; level += 1) shared.push({ a: shared[level] });
    const tool = { name: "t", inputSchema: { parts: shared } };
    expect(() =>
      parseAgent({ resources: [{ $resourceType: "mcp", name: "a", availableTools: [tool] }] }),
    ).toThrow("20000 levels");
  });
});

describe("the input is never changed", () => {
  it("whether it is valid or not", () => {
    fc.assert(
      fc.property(nearMisses(fc.jsonValue({ maxDepth: 2 })), (agent) => {
        const before = fc.stringify(agent);
        parseOrReject(agent);
        expect(fc.stringify(agent)).toBe(before);
      }),
    );
  });
});
