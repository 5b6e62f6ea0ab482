import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { Redactor } from "../../../src/errors/redaction.js";
import { stripHiddenCharacters } from "../../../src/errors/sanitize-text.js";
import { times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";

const redactor = new Redactor(["sk-canary", `quo"ted`]);

/** Everything that a logger could print. */
function inspectAll(value: unknown): string {
  return inspect(value, { depth: Infinity, showHidden: true });
}

class Box {
  readonly inner: object;

  constructor(inner: object) {
    this.inner = inner;
  }
}

/** An error with a thousand nested causes that ends with `last`. */
function chainTo(last: Error): Error {
  return Array.from({ length: 1_000 }).reduce<Error>(
    (cause, _, level) => new Error(`level ${level}`, { cause }),
    last,
  );
}

describe("redact", () => {
  it("redacts every occurrence of a secret", () => {
    expect(redactor.redact("sk-canary, [sk-canary] and xsk-canaryx")).toBe(
      "[redacted], [[redacted]] and x[redacted]x",
    );
  });

  it("redacts recognizable credentials, too", () => {
    expect(redactor.redact("sk-canary at https://ann:pw@x.test")).toBe(
      "[redacted] at https://[redacted]@x.test",
    );
  });

  it("redacts the longest of overlapping secrets", () => {
    expect(new Redactor(["abcd", "Token abcd"]).redact("sent Token abcd")).toBe("sent [redacted]");
  });

  it("treats a secret as a literal", () => {
    expect(new Redactor(["a.c$&("]).redact("a.c$&( but not abc$&(")).toBe("[redacted] but not abc$&(");
  });

  it("ignores very short secrets", () => {
    expect(new Redactor(["", "a", "the"]).redact("the other cat")).toBe("the other cat");
  });

  it("without secrets it still redacts recognizable credentials", () => {
    expect(new Redactor().redact("Bearer abc123")).toBe("Bearer [redacted]");
  });
});

describe("a redactor that includes others", () => {
  it("redacts what they redact, now and later", () => {
    const [server, other] = [new Redactor(["sk-first"]), new Redactor(["sk-first", "sk-other"])];
    const [manager, toolset] = [new Redactor(), new Redactor(["sk-own"])];
    toolset.include(manager);
    manager.include(server);
    manager.include(other);
    server.addRotating("sk-later", () => []);
    const text = "sk-own sk-first sk-other sk-later";
    expect(toolset.redact(text)).toBe("[redacted] [redacted] [redacted] [redacted]");
    expect(server.redact(text)).toBe("sk-own [redacted] sk-other [redacted]");
    manager.exclude(other);
    expect(toolset.redact(text)).toBe("[redacted] [redacted] sk-other [redacted]");
    manager.exclude(server);
    server.add(["sk-added"]);
    expect(toolset.redact(`${text} sk-added`)).toBe("[redacted] sk-first sk-other sk-later sk-added");
  });
});

describe("a long text", () => {
  it.each([
    ["redact", (text: string) => redactor.redact(text), 4_096],
    ["redact with a limit", (text: string) => redactor.redact(text, 100), 100],
    ["excerpt", (text: string) => redactor.excerpt(text), 300],
    ["sanitize", (text: string) => redactor.sanitize(text, 1_001), 1_001],
  ])("is truncated by %s, and shows no part of a secret wherever it is cut", (_, redact, limit) => {
    for (const offset of times(80, (n) => limit - 20 + n * 9)) {
      const shown = redact(`${"x".repeat(offset)}sk-canary${" more".repeat(2_000)}`);
      expect(shown.length).toBeLessThanOrEqual(limit);
      expect(shown).not.toMatch(/sk-|canary/);
    }
  });

  it("does not show a credential that is cut before it can be recognized", () => {
    for (const offset of times(60, (n) => 4_060 + n * 10)) {
      const text = `${"x ".repeat(offset / 2)}https://ann:${"password".repeat(8)}@host/ ${"more ".repeat(900)}`;
      expect(new Redactor().redact(text)).not.toContain("password");
    }
  });

  it("of secrets becomes short", () => {
    expect(redactor.redact("sk-canary".repeat(100))).toBe("[redacted]");
  });
});

describe("a secret is redacted", () => {
  it("if hidden characters separate its characters", () => {
    expect(redactor.excerpt(Array.from("sent sk-canary!").join("\u200b"))).toBe("sent [redacted]!");
  });

  it.each([
    "\u200b",
    "\u202e",
    "\u00ad",
    "\ufe0f",
    "\r",
    "\u0000",
    "\u0085",
    "\u001b[31m",
    "\u001b]0;title\u0007",
  ])("if %j is between its characters, in a cause and in a record", (hidden) => {
    const split = `sk-${hidden}canary`;
    const causes = [
      split,
      new Error(`sent ${split}`),
      Object.assign(new Error("failed"), { name: split, code: split }),
      Object.assign(new Error("failed"), { stack: `Error: ${split}\n at here` }),
      Object.assign(new Error("failed"), { data: { text: split } }),
      new Error("failed", { cause: { [split]: [new Map([[split, new Set([split])]])] } }),
      { code: -32_000, message: split, data: { text: split } },
    ];
    for (const cause of causes) {
      const printed = inspectAll(redactor.redactCause(cause)).replaceAll(/\\x1B/g, "\u001b");
      expect(stripHiddenCharacters(printed.replaceAll(/\\x\w\w|\\r/g, ""))).not.toContain("sk-canary");
    }
    expect(redactor.redactJson({ text: split, [split]: 1 })).toEqual({ text: "[redacted]", "[redacted]": 1 });
    expect(redactor.containsSecret(split)).toBe(true);
  });

  it("and hidden characters elsewhere are kept in a cause and a record", () => {
    const value = { text: "sunny \u2600\ufe0f\r\n" };
    const cause = new Error("sunny \u2600\ufe0f\r\n", { cause: value });
    expect(redactor.redactCause(cause)).toBe(cause);
    expect(redactor.redactJson(value)).toEqual(value);
  });

  it("if a line break separates its words in an excerpt", () => {
    expect(new Redactor(["open sesame"]).excerpt("sent open\n\u200bsesame!")).toBe("sent [redacted]!");
  });

  it("without the hidden characters that it has itself", () => {
    expect(new Redactor(["open\u00adsesame"]).redact("sent opensesame")).toBe("sent [redacted]");
  });

  it.each(["\u200b", "\r", "\u001b[31m", "\ufeff"])(
    "before %j between its characters can be removed from what is returned",
    (hidden) => {
      const text = `a${hidden}b sk-${hidden}canary`;
      const redacted = redactor.redact(text);
      expect(redacted).toBe("ab [redacted]");
      expect(redactor.redact(`a${hidden}b`)).toBe(`a${hidden}b`);
      for (const offset of times(80, (n) => 80 + n)) {
        const shown = redactor.redact(`${"x".repeat(offset)}${text}${" more".repeat(99)}`, 120);
        expect(stripHiddenCharacters(shown)).not.toMatch(/sk-c|canary/);
      }
    },
  );

  it("if it was truncated before", () => {
    expect(redactor.redact('got "sk-can…')).toBe('got "[redacted]…');
  });

  it("if it is longer than what is compared at each position", () => {
    const secret = `${"long-".repeat(400)}end`;
    expect(new Redactor([secret]).redact(`a ${secret} b`)).toBe("a [redacted] b");
  });

  it("in property names, strings and numbers of JSON", () => {
    const numbers = new Redactor(["471147", "sk-canary"]);
    const value = {
      "is sk-canary": [{ text: "sk-canary", pin: 471_147, other: 14_711_470 }],
      n: 1,
      none: null,
    };
    expect(numbers.redactJson(value)).toEqual({
      "is [redacted]": [{ text: "[redacted]", pin: "[redacted]", other: 14_711_470 }],
      n: 1,
      none: null,
    });
  });
});

describe("rotating secrets", () => {
  const encodingsOf = (secret: string) => [encodeURIComponent(secret)];

  it("are kept while their lease is referenced, and the latest ones also afterwards", async () => {
    const rotating = new Redactor();
    const lease = rotating.addRotating("held secret", encodingsOf);
    expect(rotating.addRotating("held secret", encodingsOf)).toBe(lease);
    for (const n of times(20_000, (index) => index)) {
      rotating.addRotating(`token-${n}-end`, encodingsOf);
      // Objects are referenced until the end of the current job.
      if (n % 2_000 === 0) await collectInNextJob();
    }
    await collectInNextJob();
    for (const n of times(10_000, (index) => index)) rotating.addRotating(`late-${n}-end`, encodingsOf);
    expect(rotating.redact("held secret, held%20secret")).toBe("[redacted], [redacted]");
    expect(rotating.redact("late-9999-end")).toBe("[redacted]");
    expect(rotating.redact("token-1-end")).toBe("token-1-end");
    expect(lease).toBeDefined();
  });
});

async function collectInNextJob(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
}

describe("redactCause", () => {
  it("a clean cause is returned as the same object", () => {
    const cause = new Error("denied", {
      cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED", port: 80 }),
    });
    expect(redactor.redactCause(cause)).toBe(cause);
  });

  it.each([undefined, null, 42, true])("%j is returned unchanged", (cause) => {
    expect(redactor.redactCause(cause)).toBe(cause);
  });

  it("a string is redacted", () => {
    expect(redactor.redactCause("sent sk-canary")).toBe("sent [redacted]");
  });

  it("a secret in a message is redacted", () => {
    const redacted = redactor.redactCause(new TypeError("sent sk-canary"));
    expect(redacted).toMatchObject({ name: "TypeError", message: "sent [redacted]" });
    expect(inspectAll(redacted)).not.toContain("sk-canary");
  });

  it("the original is not changed", () => {
    const cause = new Error("sent sk-canary");
    redactor.redactCause(cause);
    expect(cause.message).toBe("sent sk-canary");
  });

  it("a recognizable credential in a message is redacted", () => {
    expect(redactor.redactCause(new Error("Bearer abc123"))).toMatchObject({ message: "Bearer [redacted]" });
  });

  it("a redacted copy keeps the code and the redacted stack", () => {
    const cause = Object.assign(new Error("sent sk-canary"), {
      code: "ECONNRESET",
      stack: "Error: sk-canary\n at here",
    });
    expect(redactor.redactCause(cause)).toMatchObject({
      code: "ECONNRESET",
      stack: "Error: [redacted]\n at here",
    });
  });

  it("a secret in a name is redacted", () => {
    const error = Object.assign(new Error("no"), { name: "Refused7f3a91" });
    expect(new Redactor(["7f3a91"]).redactCause(error)).toMatchObject({ name: "Refused[redacted]" });
  });

  it("a secret three causes deep is redacted, and the outer errors are kept", () => {
    const cause = new Error("outer", { cause: new Error("middle", { cause: new Error("inner sk-canary") }) });
    const redacted = redactor.redactCause(cause);
    expect(redacted).toMatchObject({
      message: "outer",
      cause: { message: "middle", cause: { message: "inner [redacted]" } },
    });
    expect(inspectAll(redacted)).not.toContain("sk-canary");
  });

  it.each([
    ["a field", { url: "https://x.test/sk-canary" }],
    ["a nested field", { request: { headers: [{ authorization: "Token sk-canary" }] } }],
    ["an error in a field", { reason: new Error("sk-canary") }],
    ["the cause of an error in a field", { reason: new Error("no", { cause: new Error("sk-canary") }) }],
    ["a URL in a field", { url: new URL("https://x.test/?k=sk-canary") }],
  ])("%s with a secret is omitted", (_, fields) => {
    const redacted = redactor.redactCause(Object.assign(new Error("failed"), fields));
    expect(redacted).toMatchObject({ message: "failed" });
    expect(inspectAll(redacted)).not.toContain("sk-canary");
  });
});

describe("a long cause is truncated:", () => {
  const long = "no ".repeat(100_000);
  const manyFields = Object.fromEntries(times(100_000, (n) => [`field-${n}`, n]));

  it.each<[label: string, cause: unknown]>([
    ["a string", long],
    ["a message", new Error(long)],
    ["a message slightly above the limit", new Error("x".repeat(5_000))],
    ["a message three causes deep", new Error("a", { cause: new Error("b", { cause: new Error(long) }) })],
    ["a name", Object.assign(new Error("no"), { name: long })],
    ["a code", Object.assign(new Error("no"), { code: long })],
    ["a stack", Object.assign(new Error("no"), { stack: long })],
    ["a field", Object.assign(new Error("no"), { data: { text: long } })],
    ["an object", { text: long }],
    ["many strings", { text: Array.from({ length: 150 }, () => "no ".repeat(1_000)) }],
    ["an error in a field", Object.assign(new Error("no"), { reason: new Error(long) })],
    ["many fields", manyFields],
    ["many fields of an error", Object.assign(new Error("no"), { data: manyFields })],
    ["a large array", times(1_000_000, (n) => n)],
    ["a large map", new Map(times(100_000, (n) => [n, `${n}`]))],
    ["a proxy", new Proxy({ text: long }, {})],
    ["bytes", Object.assign(new Error("no"), { body: Buffer.alloc(10_000_000) })],
  ])("%s", (_, cause) => {
    expect(inspectAll(redactor.redactCause(cause)).length).toBeLessThan(20_000);
  });

  it("and keeps its beginning and stack", () => {
    const redacted = redactor.redactCause(new RangeError(`first ${long}`)) as Error;
    expect(redacted).toMatchObject({
      name: "RangeError",
      message: expect.stringMatching(/^first no [^]*…$/),
    });
    expect(redacted.message).toHaveLength(4_096);
    expect(redacted.stack).toContain("redactor.test.ts");
  });

  it("a secret at the truncation boundary is not shown partially", () => {
    const redacted = redactor.redactCause(new Error(`${"x".repeat(4_090)}sk-canary and more`)) as Error;
    expect(redacted.message).not.toContain("sk-");
  });

  it("a very long chain of causes is truncated", () => {
    expect(inspectAll(redactor.redactCause(chainTo(new Error("the end")))).length).toBeLessThan(50_000);
  });
});

describe("no secret remains in", () => {
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
    expect(inspectAll(redactor.redactCause(cause))).not.toContain("sk-canary");
  });

  it("a value that is nested deeper than the inspection limit", () => {
    expect(inspectAll(redactor.redactCause(chainTo(new Error("sk-canary"))))).not.toContain("sk-canary");
    const fields = Array.from({ length: 20 }).reduce<object>((inner) => new Box(inner), { key: "sk-canary" });
    const cause = Object.assign(new Error("failed"), { fields });
    expect(inspectAll(redactor.redactCause(cause))).not.toContain("sk-canary");
  });

  it.each([
    ["in a multi-line array", Array.from({ length: 5 }, () => ({ key: "sk-canary" }))],
    ["in a set", new Set([{ key: "sk-canary" }])],
    ["in a map", new Map([["a", { key: "sk-canary" }]])],
  ])("a value %s at any depth", (_, holder) => {
    for (let depth = 0; depth < 16; depth += 1) {
      const fields = Array.from({ length: depth }).reduce((inner) => ({ inner }), holder);
      const cause = Object.assign(new Error("failed"), { fields });
      expect({ depth, text: inspectAll(redactor.redactCause(cause)) }).toEqual({
        depth,
        text: expect.not.stringContaining("sk-canary"),
      });
    }
  });

  it("a field whose secret JSON escapes", () => {
    const cause = Object.assign(new Error("failed"), { request: { key: `quo"ted` } });
    expect(redactor.redactCause(cause)).not.toBe(cause);
  });

  it("a text with overlapping secrets", () => {
    expect(new Redactor(["abcdef", "defghi"]).redact("abcdefghi")).not.toContain("ghi");
  });
});

describe("circular causes are kept:", () => {
  it("an error that is its own cause", () => {
    const cause = new Error("failed");
    cause.cause = cause;
    expect(redactor.redactCause(cause)).toMatchObject({ message: "failed" });
  });

  it("an error that has itself in a field", () => {
    const cause = new Error("failed");
    Object.assign(cause, { error: cause });
    expect(redactor.redactCause(cause)).toMatchObject({ message: "failed" });
  });
});

describe("a text that is cut after a redacted part", () => {
  it("does not end with the beginning of a token whose form is not recognizable there", () => {
    const text = `//${"u".repeat(560)}@h Bearer ${"abcdefghij".repeat(4)}K1234567 and more`.padEnd(
      2_000,
      ".",
    );
    expect(new Redactor().redact(text, 100)).not.toContain("abcdefghij");
  });
});
