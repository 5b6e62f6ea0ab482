import { describe, expect, it } from "vitest";
import type { ArgumentProperty } from "../../../src/config/argument-property.js";
import type { JsonObject } from "../../../src/json/json.js";
import { compileArgumentProperties } from "../../../src/tools/argument-injector.js";
import { definitionErrorOf } from "../config/config-error-of.js";

const fixed = (value: unknown, isSensitive = false): ArgumentProperty => ({
  variant: "static",
  value,
  isSensitive,
});
const input = (argumentPath: string, isSensitive = false): ArgumentProperty => ({
  variant: "argument",
  argumentPath,
  isSensitive,
});
const list: ArgumentProperty = { variant: "arrayBuilder", isSensitive: false };
const words = (
  ...tokens: [type: "simpleText" | "variable" | "expression", rawString: string][]
): ArgumentProperty => ({
  variant: "textBuilder",
  tokens: tokens.map(([type, rawString]) => ({ type, rawString })),
  isSensitive: false,
});

type Properties = Readonly<Record<string, ArgumentProperty>>;
const fill = (properties: Properties, args: JsonObject = {}, agentInput: JsonObject = {}) =>
  compileArgumentProperties(properties, {}).fill(args, agentInput);

const masked = (properties: Properties, args: JsonObject) =>
  compileArgumentProperties(properties, {}).masked(args);

function frozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

describe("without properties", () => {
  const schema = { type: "object", properties: { a: {} } };
  const filler = compileArgumentProperties({}, schema);

  it("there is nothing to fill in, and the schema is shown as it is", () => {
    expect(filler.isEmpty).toBe(true);
    expect(filler.shownSchema).toBe(schema);
  });

  it("the arguments are sent as they are", () => {
    expect(fill({}, { a: 1 }, { a: 2 })).toEqual({ a: 1 });
    expect(masked({}, { a: 1 })).toEqual({ a: 1 });
  });
});

describe("a fixed value", () => {
  it.each([
    ["$['host']", { host: "x" }],
    [`$["host"]`, { host: "x" }],
    ["$.host", { host: "x" }],
    ["host", { host: "x" }],
    ["['host']", { host: "x" }],
    ["$.user.name", { user: { name: "x" } }],
    ["$['a b']['c.d']", { "a b": { "c.d": "x" } }],
    [String.raw`$['it\'s']`, { "it's": "x" }],
    [String.raw`$['\u00e9']`, { é: "x" }],
    ["$.list[0]", { list: ["x"] }],
    ["$.list[2]", { list: [null, null, "x"] }],
    ["$.list[1].id", { list: [null, { id: "x" }] }],
    ["$.list[*]", { list: ["x"] }],
    ["$.list[*].id", {}],
    ["$.a[*].b[*]", {}],
    ["$['0']", { "0": "x" }],
  ])("at %s is put where nothing was", (path, expected) => {
    expect(fill({ [path]: fixed("x") })).toEqual(expected);
  });

  it.each([
    ["$.host", { host: "model", port: 1 }, { host: "x", port: 1 }],
    ["$.user.name", { user: { name: "model", age: 1 } }, { user: { name: "x", age: 1 } }],
    ["$.user.name", { user: "model" }, { user: { name: "x" } }],
    ["$.user.name", { user: null }, { user: { name: "x" } }],
    ["$.list[0]", { list: ["a", "b"] }, { list: ["x", "b"] }],
    ["$.list[1]", { list: ["a", "b", "c"] }, { list: ["a", "x", "c"] }],
    ["$.list[*]", { list: ["a", "b"] }, { list: ["x", "x"] }],
    ["$.list[*]", { list: [] }, { list: ["x"] }],
    [
      "$.list[*].id",
      { list: [{ id: 1, n: 1 }, { n: 2 }] },
      {
        list: [
          { id: "x", n: 1 },
          { id: "x", n: 2 },
        ],
      },
    ],
    ["$.list[*].id", { list: [] }, { list: [] }],
    ["$.list[*].id", { list: "model" }, { list: "model" }],
  ])("at %s overwrites what the model sent", (path, args, expected) => {
    expect(fill({ [path]: fixed("x") }, args)).toEqual(expected);
  });

  it("may be null", () => {
    expect(fill({ "$.a": fixed(null) }, { a: 1 })).toEqual({ a: null });
  });

  it("is given to every place as a copy of its own", () => {
    const value = { tags: ["a"] };
    const { fill: fillIn } = compileArgumentProperties({ "$.list[*]": fixed(value) }, {});
    const filled = fillIn({ list: [1, 2] }, {}) as { list: { tags: string[] }[] };
    filled.list[0]?.tags.push("b");
    expect(filled.list[1]).toEqual({ tags: ["a"] });
    expect(value).toEqual({ tags: ["a"] });
    expect(fillIn({}, {})).toEqual({ list: [{ tags: ["a"] }] });
  });
});

describe("a value from the agent's input", () => {
  it.each([
    ["userId", { userId: 7 }, { id: 7 }],
    ["$['user']['id']", { user: { id: 7 } }, { id: 7 }],
    ["user.ids[1]", { user: { ids: [1, 7] } }, { id: 7 }],
    ["users[*].id", { users: [{ id: 7 }, { id: 8 }] }, { id: 7 }],
    ["$", { a: 1 }, { id: { a: 1 } }],
    ["a", { a: null }, { id: null }],
    ["a", { a: false }, { id: false }],
  ])("%s", (path, agentInput, expected) => {
    expect(fill({ "$.id": input(path) }, { id: "model" }, agentInput)).toEqual(expected);
  });

  it("that is absent leaves the model's own argument", () => {
    expect(fill({ "$.id": input("userId") }, { id: "model" })).toEqual({ id: "model" });
    expect(fill({ "$.user.id": input("userId") })).toEqual({});
  });

  it("that is absent and sensitive is left out, whatever the model sent", () => {
    expect(fill({ "$.id": input("userId", true) }, { id: "model", a: 1 })).toEqual({ a: 1 });
    expect(fill({ "$.u.id": input("userId", true) }, { u: { id: "model", n: 1 } })).toEqual({ u: { n: 1 } });
    expect(fill({ "$.l[*].id": input("userId", true) }, { l: [{ id: 1 }, { n: 1 }] })).toEqual({
      l: [{}, { n: 1 }],
    });
    expect(fill({ "$.l[*]": input("userId", true) }, { l: ["model"] })).toEqual({});
    expect(fill({ "$.l[0]": input("userId", true) }, { l: ["model", 2] })).toEqual({ l: [null, 2] });
  });

  it("is never found on a prototype", () => {
    expect(fill({ "$.id": input("constructor.name") })).toEqual({});
    expect(fill({ "$.id": input("a.length") }, {}, { a: [1] })).toEqual({});
  });

  it("is a copy: a later change does not reach the input", () => {
    const agentInput = { user: { roles: ["a"] } };
    const filled = fill({ "$.user": input("user") }, {}, agentInput) as typeof agentInput;
    filled.user.roles.push("b");
    expect(agentInput).toEqual({ user: { roles: ["a"] } });
  });
});

describe("a text", () => {
  const agentInput = {
    name: "Ann",
    user: { mail: "a@x.test", tags: ["p", "q"] },
    n: 3,
    yes: true,
    none: null,
  };

  it.each([
    ["name", "Ann"],
    ["input.name", "Ann"],
    ["Input.name", "Ann"],
    ["input.user.mail", "a@x.test"],
    ["user.tags[1]", "q"],
    ["input['user']['mail']", "a@x.test"],
    ["input.n", "3"],
    ["input.yes", "true"],
    ["input.user.tags", `["p","q"]`],
    ["input.none", ""],
    ["input.missing", ""],
    ["missing.deeply", ""],
    ["", JSON.stringify(agentInput)],
    ["input", JSON.stringify(agentInput)],
  ])("with the variable %j has %j in it", (variable, expected) => {
    const text = words(["simpleText", "<"], ["variable", variable], ["simpleText", ">"]);
    expect(fill({ "$.t": text }, { t: "model" }, agentInput)).toEqual({ t: `<${expected}>` });
  });

  it("an expression is a text", () => {
    expect(fill({ "$.t": words(["expression", "1 + 1"]) })).toEqual({ t: "1 + 1" });
  });

  it("without tokens is empty", () => {
    expect(fill({ "$.t": words() }, { t: "model" })).toEqual({ t: "" });
  });

  it("a variable may be a key that no path can name", () => {
    expect(fill({ "$.t": words(["variable", "input.Full Name"]) }, {}, { "Full Name": "Ann" })).toEqual({
      t: "Ann",
    });
  });

  it("an input that contains itself is no text", () => {
    const cyclic: JsonObject = {};
    cyclic["self"] = cyclic;
    expect(fill({ "$.t": words(["variable", "input.self"]) }, {}, cyclic)).toEqual({ t: "" });
  });
});

describe("a list that is built", () => {
  it("has the items below it, in their places", () => {
    const properties = { "$.l[1]": words(["simpleText", "b"]), "$.l": list, "$.l[0]": input("a") };
    expect(fill(properties, { l: ["model", "model", "model"] }, { a: "a" })).toEqual({ l: ["a", "b"] });
  });

  it("has null for what is missing", () => {
    expect(fill({ "$.l": list, "$.l[0]": input("gone"), "$.l[2]": fixed("c") })).toEqual({
      l: [null, null, "c"],
    });
  });

  it("without items is empty", () => {
    expect(fill({ "$.l": list }, { l: [1] })).toEqual({ l: [] });
  });

  it("may hold objects and lists that are built", () => {
    const properties = {
      "$['l']": list,
      "$['l'][0]['id']": fixed(1),
      "$['l'][0]['name']": input("gone"),
      "$['l'][1]": list,
      "$['l'][1][0]": fixed("x"),
    };
    expect(fill(properties)).toEqual({ l: [{ id: 1 }, ["x"]] });
  });

  it("takes nothing that was meant for one list among many", () => {
    const properties = { "$.rows[*]": list, "$.rows[1][0]": fixed("s", true), "$.rows[*][1]": fixed("b") };
    expect(fill(properties, { rows: [1, 2] })).toEqual({
      rows: [
        [null, "b"],
        [null, "b"],
      ],
    });
  });
});

describe("paths that meet", () => {
  it("a parent wins over its children, in any order", () => {
    const properties = {
      "$.user.name": fixed("child"),
      "$.user": fixed({ name: "parent" }),
      "$.users": fixed(1),
    };
    expect(fill(properties)).toEqual({ user: { name: "parent" }, users: 1 });
  });

  it("all items are the parent of what is in one of them", () => {
    expect(fill({ "$.l[0].id": fixed("child"), "$.l[*]": fixed("parent") }, { l: [1, 2] })).toEqual({
      l: ["parent", "parent"],
    });
  });

  it("one item wins over all items", () => {
    expect(fill({ "$.l[0]": fixed("first"), "$.l[*]": fixed("other") }, { l: [1, 2] })).toEqual({
      l: ["first", "other"],
    });
  });

  it("an item that was created has what all items have", () => {
    expect(fill({ "$.l[*].id": fixed(1), "$.l[0].name": fixed("a") })).toEqual({ l: [{ name: "a", id: 1 }] });
  });
});

describe("nothing that was lent is changed", () => {
  it("neither arguments nor input nor schema nor properties", () => {
    const properties = frozen({
      "$.a.b": fixed({ c: [1] }),
      "$.l[*].id": input("id"),
      "$.s": fixed("secret", true),
      "$.gone": input("gone", true),
    });
    const schema = frozen({
      type: "object",
      properties: { a: { $ref: "#/$defs/A" }, s: { type: "string" }, gone: {} },
      required: ["a", "s"],
      $defs: { A: { type: "object", properties: { b: {} } } },
    });
    const filler = compileArgumentProperties(properties, schema);
    const filled = filler.fill(frozen({ a: { x: 1 }, l: [{}], gone: 1 }), frozen({ id: 7 }));
    expect(filled).toEqual({ a: { x: 1, b: { c: [1] } }, l: [{ id: 7 }], s: "secret" });
    expect(filler.masked(frozen(filled))).toEqual({ a: { x: 1, b: { c: [1] } }, l: [{ id: 7 }], s: "***" });
  });
});

describe("keys of every object", () => {
  it.each(["__proto__", "constructor", "prototype", "toString"])("%s is a key like any other", (key) => {
    const filled = fill({ [`$['${key}']['polluted']`]: fixed(true) });
    expect(Object.keys(filled)).toEqual([key]);
    expect(JSON.stringify(filled)).toBe(`{"${key}":{"polluted":true}}`);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect("polluted" in Object).toBe(false);
  });

  it("a __proto__ of the model's stays a key", () => {
    const args = JSON.parse(`{"__proto__":{"a":1},"b":{"__proto__":{"c":1}}}`) as JsonObject;
    expect(JSON.stringify(fill({ "$.b.d": fixed(2) }, args))).toBe(
      `{"__proto__":{"a":1},"b":{"__proto__":{"c":1},"d":2}}`,
    );
  });
});

describe("masked", () => {
  it("shows stars for what is sensitive, and everything else", () => {
    const properties = { "$.key": fixed("s", true), "$.u.pass": input("p", true), "$.open": fixed("o") };
    expect(masked(properties, { key: "s", u: { pass: ["x"], name: "n" }, open: "o" })).toEqual({
      key: "***",
      u: { pass: "***", name: "n" },
      open: "o",
    });
  });

  it("adds nothing that is not there", () => {
    expect(masked({ "$.a.b": fixed(1, true), "$.l[*].c": fixed(1, true) }, { l: [{}] })).toEqual({ l: [{}] });
  });

  it("covers every item of a list, and the items of a list that is built", () => {
    const properties = { "$.l[*].id": fixed(1, true), "$.b": list, "$.b[1]": fixed("s", true) };
    expect(masked(properties, { l: [{ id: 1 }, { id: 2 }], b: ["open", "s"] })).toEqual({
      l: [{ id: "***" }, { id: "***" }],
      b: ["open", "***"],
    });
  });

  it("covers what is sensitive inside of a value that is not", () => {
    const properties = { "$.u": fixed({ name: "n", pass: "s" }), "$.u.pass": fixed("s", true) };
    expect(masked(properties, { u: { name: "n", pass: "s" } })).toEqual({ u: { name: "n", pass: "***" } });
  });

  it("is a copy", () => {
    const args = { a: { b: [1] } };
    const copy = masked({ "$.key": fixed("s", true) }, args) as typeof args;
    copy.a.b.push(2);
    expect(args).toEqual({ a: { b: [1] } });
  });
});

describe("a path that cannot be read", () => {
  it("is an error that names it, together with all others", () => {
    const properties = { "$.a[?(@.b)]": fixed(1), "$[*]": fixed(1), "$.ok": fixed(1), "$.x": input("$..y") };
    expect(definitionErrorOf(() => compileArgumentProperties(properties, {})).issues).toEqual([
      {
        path: `argumentProperties["$.a[?(@.b)]"]`,
        message:
          "is no path to an argument; allowed are $.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row",
      },
      {
        path: `argumentProperties["$[*]"]`,
        message:
          "is no path to an argument; allowed are $.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row",
      },
      {
        path: `argumentProperties["$.x"]`,
        message:
          "has an argumentPath that cannot be read; allowed are $.name, $['name'], [0] to [9999] and [*], at most 64 of them in a row",
      },
    ]);
  });

  it("so is a path that is written twice", () => {
    const properties = { "$.a": fixed(1), "$['a']": fixed(2) };
    expect(definitionErrorOf(() => compileArgumentProperties(properties, {})).issues).toEqual([
      { path: `argumentProperties["$['a']"]`, message: "is written twice, in two spellings" },
    ]);
  });

  it("a path of 65 steps is too long", () => {
    expect(fill({ [`$${".a".repeat(64)}`]: fixed(1) })).toHaveProperty("a.a.a");
    definitionErrorOf(() => fill({ [`$${".a".repeat(65)}`]: fixed(1) }));
  });
});
