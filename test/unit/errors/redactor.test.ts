import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { Redactor } from "../../../src/errors/redaction.js";

const redactor = new Redactor(["sk-canary", `quo"ted`]);

/** Everything that a logger could print of it. */
function everythingIn(value: unknown): string {
  return inspect(value, { depth: Infinity, showHidden: true });
}

class Box {
  readonly inner: object;

  constructor(inner: object) {
    this.inner = inner;
  }
}

/** An error with a thousand causes, of which this is the last. */
function chainTo(last: Error): Error {
  return Array.from({ length: 1_000 }).reduce<Error>(
    (cause, _, level) => new Error(`level ${level}`, { cause }),
    last,
  );
}

describe("text", () => {
  it("removes a secret wherever it stands", () => {
    expect(redactor.text("sk-canary, [sk-canary] and xsk-canaryx")).toBe(
      "[redacted], [[redacted]] and x[redacted]x",
    );
  });

  it("removes what can be recognised, too", () => {
    expect(redactor.text("sk-canary at https://ann:pw@x.test")).toBe(
      "[redacted] at https://[redacted]@x.test",
    );
  });

  it("removes the longest secret first", () => {
    expect(new Redactor(["abcd", "Token abcd"]).text("sent Token abcd")).toBe("sent [redacted]");
  });

  it("takes a secret literally", () => {
    expect(new Redactor(["a.c$&("]).text("a.c$&( but not abc$&(")).toBe("[redacted] but not abc$&(");
  });

  it("leaves words alone that a very short secret is part of", () => {
    expect(new Redactor(["", "a", "the"]).text("the other cat")).toBe("the other cat");
  });

  it("without secrets it still recognises credentials", () => {
    expect(new Redactor().text("Bearer abc123")).toBe("Bearer [redacted]");
  });
});

describe("cause", () => {
  it("a clean cause stays the very same object", () => {
    const cause = new Error("denied", {
      cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED", port: 80 }),
    });
    expect(redactor.cause(cause)).toBe(cause);
  });

  it.each([undefined, null, 42, true])("%j stays as it is", (cause) => {
    expect(redactor.cause(cause)).toBe(cause);
  });

  it("a text is redacted", () => {
    expect(redactor.cause("said sk-canary")).toBe("said [redacted]");
  });

  it("a message with a secret is told without it", () => {
    const shown = redactor.cause(new TypeError("said sk-canary"));
    expect(shown).toMatchObject({ name: "TypeError", message: "said [redacted]" });
    expect(everythingIn(shown)).not.toContain("sk-canary");
  });

  it("the original is not changed", () => {
    const cause = new Error("said sk-canary");
    redactor.cause(cause);
    expect(cause.message).toBe("said sk-canary");
  });

  it("a recognisable credential in a message is enough for a copy", () => {
    expect(redactor.cause(new Error("Bearer abc123"))).toMatchObject({ message: "Bearer [redacted]" });
  });

  it("a clean copy keeps the code, and the stack without the secret", () => {
    const cause = Object.assign(new Error("said sk-canary"), {
      code: "ECONNRESET",
      stack: "Error: sk-canary\n at here",
    });
    expect(redactor.cause(cause)).toMatchObject({ code: "ECONNRESET", stack: "Error: [redacted]\n at here" });
  });

  it("a name with a secret is told without it", () => {
    const error = Object.assign(new Error("no"), { name: "Refused7f3a91" });
    expect(new Redactor(["7f3a91"]).cause(error)).toMatchObject({ name: "Refused[redacted]" });
  });

  it("a secret three causes deep is found, and the errors around it are told", () => {
    const cause = new Error("outer", { cause: new Error("middle", { cause: new Error("inner sk-canary") }) });
    const shown = redactor.cause(cause);
    expect(shown).toMatchObject({
      message: "outer",
      cause: { message: "middle", cause: { message: "inner [redacted]" } },
    });
    expect(everythingIn(shown)).not.toContain("sk-canary");
  });

  it.each([
    ["a field", { url: "https://x.test/sk-canary" }],
    ["a nested field", { request: { headers: [{ authorization: "Token sk-canary" }] } }],
    ["an error in a field", { reason: new Error("sk-canary") }],
    ["the cause of an error in a field", { reason: new Error("no", { cause: new Error("sk-canary") }) }],
    ["a URL in a field", { url: new URL("https://x.test/?k=sk-canary") }],
  ])("%s with a secret is left out", (_, fields) => {
    const shown = redactor.cause(Object.assign(new Error("failed"), fields));
    expect(shown).toMatchObject({ message: "failed" });
    expect(everythingIn(shown)).not.toContain("sk-canary");
  });
});

describe("a cause of any length is told at the length of other texts", () => {
  const long = "no ".repeat(100_000);

  it.each<[label: string, cause: unknown]>([
    ["a text", long],
    ["a message", new Error(long)],
    ["a message of somewhat more", new Error("x".repeat(5_000))],
    ["a message three causes deep", new Error("a", { cause: new Error("b", { cause: new Error(long) }) })],
    ["a name", Object.assign(new Error("no"), { name: long })],
    ["a code", Object.assign(new Error("no"), { code: long })],
    ["a stack", Object.assign(new Error("no"), { stack: long })],
    ["a field", Object.assign(new Error("no"), { data: { said: long } })],
    ["an object", { said: long }],
    ["many texts in one", { said: Array.from({ length: 150 }, () => "no ".repeat(1_000)) }],
    ["an error in a field", Object.assign(new Error("no"), { reason: new Error(long) })],
  ])("%s", (_, cause) => {
    expect(everythingIn(redactor.cause(cause)).length).toBeLessThan(20_000);
  });

  it("its beginning, and where it happened", () => {
    const shown = redactor.cause(new RangeError(`first ${long}`)) as Error;
    expect(shown).toMatchObject({ name: "RangeError", message: expect.stringMatching(/^first no [^]*…$/) });
    expect(shown.message).toHaveLength(4_096);
    expect(shown.stack).toContain("redactor.test.ts");
  });

  it("a secret at the place of the cut is not told in part", () => {
    const shown = redactor.cause(new Error(`${"x".repeat(4_090)}sk-canary and more`)) as Error;
    expect(shown.message).not.toContain("sk-");
  });

  it("causes without end are told as far as somebody would read", () => {
    expect(everythingIn(redactor.cause(chainTo(new Error("the end")))).length).toBeLessThan(50_000);
  });
});

describe("no cause lets a secret through", () => {
  const circular: Record<string, unknown> = { authorization: "sk-canary" };
  circular["self"] = circular;

  it.each([
    ["a plain object", { authorization: "sk-canary" }],
    [
      "a plain object as the cause of an error",
      new Error("failed", { cause: { authorization: "sk-canary" } }),
    ],
    ["the errors of an AggregateError", new AggregateError([new Error("sk-canary")], "failed")],
    ["a field that refers to itself", Object.assign(new Error("failed"), { request: circular })],
    ["a field with a BigInt", Object.assign(new Error("failed"), { request: { id: 1n, key: "sk-canary" } })],
    ["a Map", Object.assign(new Error("failed"), { headers: new Map([["authorization", "sk-canary"]]) })],
    ["Headers", Object.assign(new Error("failed"), { headers: new Headers({ authorization: "sk-canary" }) })],
    [
      "a field that is not enumerable",
      Object.defineProperty(new Error("failed"), "key", { value: "sk-canary" }),
    ],
    ["a stack", Object.assign(new Error("failed"), { stack: "Error: sk-canary\n at here" })],
    ["a code", Object.assign(new Error("sk-canary"), { code: "sk-canary" })],
  ])("%s", (_, cause) => {
    expect(everythingIn(redactor.cause(cause))).not.toContain("sk-canary");
  });

  it("one that is deeper than anybody looks", () => {
    expect(everythingIn(redactor.cause(chainTo(new Error("sk-canary"))))).not.toContain("sk-canary");
    const fields = Array.from({ length: 20 }).reduce<object>((inner) => new Box(inner), { key: "sk-canary" });
    const cause = Object.assign(new Error("failed"), { fields });
    expect(everythingIn(redactor.cause(cause))).not.toContain("sk-canary");
  });

  it.each([
    ["in a list that takes lines", Array.from({ length: 5 }, () => ({ key: "sk-canary" }))],
    ["in a set", new Set([{ key: "sk-canary" }])],
    ["in a map", new Map([["a", { key: "sk-canary" }]])],
  ])("one %s, however deep", (_, holder) => {
    for (let depth = 0; depth < 16; depth += 1) {
      const fields = Array.from({ length: depth }).reduce((inner) => ({ inner }), holder);
      const cause = Object.assign(new Error("failed"), { fields });
      expect({ depth, text: everythingIn(redactor.cause(cause)) }).toEqual({
        depth,
        text: expect.not.stringContaining("sk-canary"),
      });
    }
  });

  it("a secret that JSON writes with escapes", () => {
    const cause = Object.assign(new Error("failed"), { request: { key: `quo"ted` } });
    expect(redactor.cause(cause)).not.toBe(cause);
  });

  it("secrets that overlap leave no part of one behind", () => {
    expect(new Redactor(["abcdef", "defghi"]).text("abcdefghi")).not.toContain("ghi");
  });
});

describe("causes that go in a circle are told", () => {
  it("an error that is its own cause", () => {
    const cause = new Error("failed");
    cause.cause = cause;
    expect(redactor.cause(cause)).toMatchObject({ message: "failed" });
  });

  it("an error that has itself in a field", () => {
    const cause = new Error("failed");
    Object.assign(cause, { error: cause });
    expect(redactor.cause(cause)).toMatchObject({ message: "failed" });
  });
});
