import { describe, expect, it } from "vitest";
import type { ArgumentProperty } from "../../../src/config/agent-definition.js";
import type { JsonObject } from "../../../src/json/json.js";
import { ArgumentInjector } from "../../../src/tools/argument-injector.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

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
const arrayBuilder: ArgumentProperty = { variant: "arrayBuilder", isSensitive: false };
const textBuilder = (
  ...tokens: [type: "simpleText" | "variable" | "expression", rawString: string][]
): ArgumentProperty => ({
  variant: "textBuilder",
  tokens: tokens.map(([type, rawString]) => ({ type, rawString })),
  isSensitive: false,
});

type Properties = Readonly<Record<string, ArgumentProperty>>;
const inject = (properties: Properties, args: JsonObject = {}, agentInput: JsonObject = {}) =>
  new ArgumentInjector(properties, {}).inject(args, agentInput);

const mask = (properties: Properties, args: JsonObject) => new ArgumentInjector(properties, {}).mask(args);

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

describe("without properties", () => {
  const schema = { type: "object", properties: { a: {} } };
  const injector = new ArgumentInjector({}, schema);

  it("there is nothing to inject, and the schema is unchanged", () => {
    expect(injector.isEmpty).toBe(true);
    expect(injector.modelSchema).toBe(schema);
  });

  it("the arguments are unchanged", () => {
    expect(inject({}, { a: 1 }, { a: 2 })).toEqual({ a: 1 });
    expect(mask({}, { a: 1 })).toEqual({ a: 1 });
  });
});

describe("a static value", () => {
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
  ])("at %s is added", (path, expected) => {
    expect(inject({ [path]: fixed("x") })).toEqual(expected);
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
  ])("at %s replaces what the model sent", (path, args, expected) => {
    expect(inject({ [path]: fixed("x") }, args)).toEqual(expected);
  });

  it("can be null", () => {
    expect(inject({ "$.a": fixed(null) }, { a: 1 })).toEqual({ a: null });
  });

  it("is copied for every path", () => {
    const value = { tags: ["a"] };
    const injector = new ArgumentInjector({ "$.list[*]": fixed(value) }, {});
    const injected = injector.inject({ list: [1, 2] }, {}) as { list: { tags: string[] }[] };
    injected.list[0]?.tags.push("b");
    expect(injected.list[1]).toEqual({ tags: ["a"] });
    expect(value).toEqual({ tags: ["a"] });
    expect(injector.inject({}, {})).toEqual({ list: [{ tags: ["a"] }] });
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
    expect(inject({ "$.id": input(path) }, { id: "model" }, agentInput)).toEqual(expected);
  });

  it("that is absent leaves the model's argument", () => {
    expect(inject({ "$.id": input("userId") }, { id: "model" })).toEqual({ id: "model" });
    expect(inject({ "$.user.id": input("userId") })).toEqual({});
  });

  it("that is absent and sensitive removes what the model sent", () => {
    expect(inject({ "$.id": input("userId", true) }, { id: "model", a: 1 })).toEqual({ a: 1 });
    expect(inject({ "$.u.id": input("userId", true) }, { u: { id: "model", n: 1 } })).toEqual({
      u: { n: 1 },
    });
    expect(inject({ "$.l[*].id": input("userId", true) }, { l: [{ id: 1 }, { n: 1 }] })).toEqual({
      l: [{}, { n: 1 }],
    });
    expect(inject({ "$.l[*]": input("userId", true) }, { l: ["model"] })).toEqual({});
    expect(inject({ "$.l[0]": input("userId", true) }, { l: ["model", 2] })).toEqual({ l: [null, 2] });
  });

  it("is never read from a prototype", () => {
    expect(inject({ "$.id": input("constructor.name") })).toEqual({});
    expect(inject({ "$.id": input("a.length") }, {}, { a: [1] })).toEqual({});
  });

  it("is a copy of the input", () => {
    const agentInput = { user: { roles: ["a"] } };
    const injected = inject({ "$.user": input("user") }, {}, agentInput) as typeof agentInput;
    injected.user.roles.push("b");
    expect(agentInput).toEqual({ user: { roles: ["a"] } });
  });
});

describe("a built text", () => {
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
  ])("renders the variable %j as %j", (variable, expected) => {
    const text = textBuilder(["simpleText", "<"], ["variable", variable], ["simpleText", ">"]);
    expect(inject({ "$.t": text }, { t: "model" }, agentInput)).toEqual({ t: `<${expected}>` });
  });

  it("renders an expression as literal text", () => {
    expect(inject({ "$.t": textBuilder(["expression", "1 + 1"]) })).toEqual({ t: "1 + 1" });
  });

  it("without tokens is empty", () => {
    expect(inject({ "$.t": textBuilder() }, { t: "model" })).toEqual({ t: "" });
  });

  it("renders a variable whose name is not a path", () => {
    expect(
      inject({ "$.t": textBuilder(["variable", "input.Full Name"]) }, {}, { "Full Name": "Ann" }),
    ).toEqual({
      t: "Ann",
    });
  });

  it("renders a cyclic input as an empty string", () => {
    const cyclic: JsonObject = {};
    cyclic["self"] = cyclic;
    expect(inject({ "$.t": textBuilder(["variable", "input.self"]) }, {}, cyclic)).toEqual({ t: "" });
  });
});

describe("a built array", () => {
  it("has its items at their indexes", () => {
    const properties = {
      "$.l[1]": textBuilder(["simpleText", "b"]),
      "$.l": arrayBuilder,
      "$.l[0]": input("a"),
    };
    expect(inject(properties, { l: ["model", "model", "model"] }, { a: "a" })).toEqual({ l: ["a", "b"] });
  });

  it("has null for missing items", () => {
    expect(inject({ "$.l": arrayBuilder, "$.l[0]": input("gone"), "$.l[2]": fixed("c") })).toEqual({
      l: [null, null, "c"],
    });
  });

  it("without items is empty", () => {
    expect(inject({ "$.l": arrayBuilder }, { l: [1] })).toEqual({ l: [] });
  });

  it("can contain objects and built arrays", () => {
    const properties = {
      "$['l']": arrayBuilder,
      "$['l'][0]['id']": fixed(1),
      "$['l'][0]['name']": input("gone"),
      "$['l'][1]": arrayBuilder,
      "$['l'][1][0]": fixed("x"),
    };
    expect(inject(properties)).toEqual({ l: [{ id: 1 }, ["x"]] });
  });

  it("does not use items of one specific array in others", () => {
    const properties = {
      "$.rows[*]": arrayBuilder,
      "$.rows[1][0]": fixed("s", true),
      "$.rows[*][1]": fixed("b"),
    };
    expect(inject(properties, { rows: [1, 2] })).toEqual({
      rows: [
        [null, "b"],
        [null, "b"],
      ],
    });
  });
});

describe("overlapping paths", () => {
  it("a parent takes precedence over its children, in any order", () => {
    const properties = {
      "$.user.name": fixed("child"),
      "$.user": fixed({ name: "parent" }),
      "$.users": fixed(1),
    };
    expect(inject(properties)).toEqual({ user: { name: "parent" }, users: 1 });
  });

  it("[*] is a parent of paths into one item", () => {
    expect(inject({ "$.l[0].id": fixed("child"), "$.l[*]": fixed("parent") }, { l: [1, 2] })).toEqual({
      l: ["parent", "parent"],
    });
  });

  it("an index takes precedence over [*]", () => {
    expect(inject({ "$.l[0]": fixed("first"), "$.l[*]": fixed("other") }, { l: [1, 2] })).toEqual({
      l: ["first", "other"],
    });
  });

  it("[*] applies to items that another path creates", () => {
    expect(inject({ "$.l[*].id": fixed(1), "$.l[0].name": fixed("a") })).toEqual({
      l: [{ name: "a", id: 1 }],
    });
  });
});

describe("inputs", () => {
  it("are not mutated: arguments, agent input, schema and properties", () => {
    const properties = deepFreeze({
      "$.a.b": fixed({ c: [1] }),
      "$.l[*].id": input("id"),
      "$.s": fixed("secret", true),
      "$.gone": input("gone", true),
    });
    const schema = deepFreeze({
      type: "object",
      properties: { a: { $ref: "#/$defs/A" }, s: { type: "string" }, gone: {} },
      required: ["a", "s"],
      $defs: { A: { type: "object", properties: { b: {} } } },
    });
    const injector = new ArgumentInjector(properties, schema);
    const injected = injector.inject(deepFreeze({ a: { x: 1 }, l: [{}], gone: 1 }), deepFreeze({ id: 7 }));
    expect(injected).toEqual({ a: { x: 1, b: { c: [1] } }, l: [{ id: 7 }], s: "secret" });
    expect(injector.mask(deepFreeze(injected))).toEqual({
      a: { x: 1, b: { c: [1] } },
      l: [{ id: 7 }],
      s: "***",
    });
  });
});

describe("keys of Object.prototype", () => {
  it.each(["__proto__", "constructor", "prototype", "toString"])("%s is an ordinary key", (key) => {
    const injected = inject({ [`$['${key}']['polluted']`]: fixed(true) });
    expect(Object.keys(injected)).toEqual([key]);
    expect(JSON.stringify(injected)).toBe(`{"${key}":{"polluted":true}}`);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect("polluted" in Object).toBe(false);
  });

  it("__proto__ in the model's arguments stays a key", () => {
    const args = JSON.parse(`{"__proto__":{"a":1},"b":{"__proto__":{"c":1}}}`) as JsonObject;
    expect(JSON.stringify(inject({ "$.b.d": fixed(2) }, args))).toBe(
      `{"__proto__":{"a":1},"b":{"__proto__":{"c":1},"d":2}}`,
    );
  });
});

describe("mask", () => {
  it("replaces only sensitive values", () => {
    const properties = { "$.key": fixed("s", true), "$.u.pass": input("p", true), "$.open": fixed("o") };
    expect(mask(properties, { key: "s", u: { pass: ["x"], name: "n" }, open: "o" })).toEqual({
      key: "***",
      u: { pass: "***", name: "n" },
      open: "o",
    });
  });

  it("does not add missing values", () => {
    expect(mask({ "$.a.b": fixed(1, true), "$.l[*].c": fixed(1, true) }, { l: [{}] })).toEqual({ l: [{}] });
  });

  it("covers every item of an array, and items of a built array", () => {
    const properties = { "$.l[*].id": fixed(1, true), "$.b": arrayBuilder, "$.b[1]": fixed("s", true) };
    expect(mask(properties, { l: [{ id: 1 }, { id: 2 }], b: ["open", "s"] })).toEqual({
      l: [{ id: "***" }, { id: "***" }],
      b: ["open", "***"],
    });
  });

  it("covers sensitive values inside others", () => {
    const properties = { "$.u": fixed({ name: "n", pass: "s" }), "$.u.pass": fixed("s", true) };
    expect(mask(properties, { u: { name: "n", pass: "s" } })).toEqual({ u: { name: "n", pass: "***" } });
  });

  it("returns a copy", () => {
    const args = { a: { b: [1] } };
    const copy = mask({ "$.key": fixed("s", true) }, args) as typeof args;
    copy.a.b.push(2);
    expect(args).toEqual({ a: { b: [1] } });
  });
});

describe("an unsupported path", () => {
  it("is reported together with all others", () => {
    const properties = { "$.a[?(@.b)]": fixed(1), "$[*]": fixed(1), "$.ok": fixed(1), "$.x": input("$..y") };
    expect(catchConfigError(() => new ArgumentInjector(properties, {})).issues).toEqual([
      {
        path: `argumentProperties["$.a[?(@.b)]"]`,
        message: expect.stringContaining("not a supported argument path"),
      },
      {
        path: `argumentProperties["$[*]"]`,
        message: expect.stringContaining("not a supported argument path"),
      },
      {
        path: `argumentProperties["$.x"]`,
        message: expect.stringContaining("argumentPath"),
      },
    ]);
  });

  it("in two notations is reported as a duplicate", () => {
    const properties = { "$.a": fixed(1), "$['a']": fixed(2) };
    expect(catchConfigError(() => new ArgumentInjector(properties, {})).issues).toEqual([
      {
        path: `argumentProperties["$['a']"]`,
        message: expect.stringContaining("duplicate"),
      },
    ]);
  });

  it("has more than 64 segments", () => {
    expect(inject({ [`$${".a".repeat(64)}`]: fixed(1) })).toHaveProperty("a.a.a");
    catchConfigError(() => inject({ [`$${".a".repeat(65)}`]: fixed(1) }));
  });
});

describe("sensitive values of too many paths", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [`$.a[*].k${index}`, fixed("s", true)]),
  );
  const args = { a: Array.from({ length: 1_000 }, () => ({ k1: "s", shown: 1 })), b: 1 };

  it("are masked with the whole argument", () => {
    expect(mask(properties, args)).toEqual({ a: "***", b: 1 });
  });

  it("are not collected in part", () => {
    expect(() => new ArgumentInjector(properties, {}).collectSecrets(args)).toThrow("more than 100000 steps");
  });
});
