import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAgent } from "../../../src/config/parse-agent.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";

/** Parses, and lets nothing pass but a result or an error of kind `definition` with its issues. */
function parseOrRefuse(agent: unknown): void {
  try {
    parseAgent(agent);
  } catch (error) {
    if (!(error instanceof McpRuntimeError) || error.kind !== "invalid-config") throw error;
    expect(error.issues).not.toEqual([]);
  }
}

const KEYS =
  "$resourceType resource_type name description slug folderPath folder_path isEnabled is_enabled availableTools " +
  "available_tools inputSchema outputSchema argumentProperties toolsConfiguration discoveryMode type allowAll " +
  "dynamicTools server variant value argumentPath tokens rawString isSensitive $.a __proto__ constructor other";
const word = fc.constantFrom(
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

/** Agents that look right from afar: nested objects with our keys, and anything in them. */
function nearMisses(value: fc.Arbitrary<unknown>) {
  const { node } = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.oneof(word, value),
      fc.dictionary(fc.constantFrom(...KEYS.split(" ")), tie("node"), { maxKeys: 6 }),
      fc.array(tie("node"), { maxLength: 3 }),
    ),
  }));
  const resource = fc
    .dictionary(fc.constantFrom(...KEYS.split(" ")), node, { maxKeys: 8 })
    .map((keys) => Object.assign(keys, { $resourceType: "mcp" }));
  return fc.record({ resources: fc.oneof(fc.array(fc.oneof(resource, node), { maxLength: 4 }), node) });
}

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

function explode(): never {
  throw new Error("boom");
}

/** Objects that fight back, each in its own way. */
function hostile(): unknown[] {
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
    new Proxy({ $resourceType: "mcp", name: "a" }, { [trap]: explode }),
    new Proxy([1], { [trap]: explode }),
  ]);
  const thrower = Object.defineProperty({}, "resources", { enumerable: true, get: explode });
  return [cyclic, revoked, revokedList, ...trapped, thrower, Symbol("s"), 1n, explode];
}

/** Puts them in the places of their names: fast-check cannot hold what throws when it is touched. */
function withFighters(value: unknown, fighters: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string") return fighters.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => withFighters(item, fighters));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withFighters(item, fighters)]));
}

describe("parseAgent throws nothing but an error of kind definition", () => {
  it("for any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), parseOrRefuse));
  });

  it("for any JSON text", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 4 }), parseOrRefuse));
  });

  it("for any object", () => {
    fc.assert(fc.property(anything, parseOrRefuse));
  });

  it("for anything that looks like an agent, with any JSON in it", () => {
    fc.assert(fc.property(nearMisses(fc.jsonValue({ maxDepth: 2 })), parseOrRefuse), { numRuns: 1_000 });
  });

  it("for anything that looks like an agent, with anything in it", () => {
    fc.assert(fc.property(nearMisses(anything), parseOrRefuse), { numRuns: 1_000 });
  });

  it("for anything that looks like an agent, with objects in it that fight back", () => {
    const fighters = new Map(hostile().map((value, index) => [`fighter ${index}`, value]));
    const agents = nearMisses(fc.constantFrom(...fighters.keys()));
    fc.assert(
      fc.property(agents, (agent) => parseOrRefuse(withFighters(agent, fighters))),
      { numRuns: 1_000 },
    );
  });

  it("for objects that fight back", () => {
    for (const value of hostile()) parseOrRefuse(value);
  });

  it.each(["name", "availableTools", "server", "toolsConfiguration"])(
    "for very deep nesting in %s",
    (key) => {
      const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
      parseOrRefuse(`{"resources":[{"$resourceType":"mcp","name":"a","${key}":${deep}}]}`);
      parseOrRefuse(`{"resources":[{"$resourceType":"mcp","name":"a","${key}":{"a":${deep}}}]}`);
    },
  );

  it.each(["inputSchema", "outputSchema", "argumentProperties"])(
    "for very deep nesting in the %s of a tool",
    (key) => {
      const deep = `${`{"a":`.repeat(100_000)}1${"}".repeat(100_000)}`;
      const tool = `{"name":"t","inputSchema":{},"${key}":${deep}}`;
      parseOrRefuse(`{"resources":[{"$resourceType":"mcp","name":"a","availableTools":[${tool}]}]}`);
    },
  );

  it("for nesting that only shows when shared parts are counted", () => {
    const parts: unknown[] = [{}];
    for (let level = 0; level < 100_000; level += 1) parts.push({ a: parts[level] });
    const tool = { name: "t", inputSchema: { parts } };
    expect(() =>
      parseAgent({ resources: [{ $resourceType: "mcp", name: "a", availableTools: [tool] }] }),
    ).toThrow("is nested more than 20000 levels deep");
  });
});

describe("what was lent is never changed", () => {
  it("whether it is valid or not", () => {
    fc.assert(
      fc.property(nearMisses(fc.jsonValue({ maxDepth: 2 })), (agent) => {
        const before = fc.stringify(agent);
        parseOrRefuse(agent);
        expect(fc.stringify(agent)).toBe(before);
      }),
    );
  });
});
