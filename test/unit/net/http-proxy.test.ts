import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type Environment, findProxy } from "../../../src/net/http-proxy.js";

function describeProxy(server: string, env: Environment): string | undefined {
  const proxy = findProxy(new URL(server), env);
  return proxy && `${proxy.variable} ${proxy.url.href}`;
}

const env = { HTTP_PROXY: "http://plain.test:1", HTTPS_PROXY: "http://secure.test:2" };

describe("findProxy", () => {
  it.each([
    ["uses HTTPS_PROXY for https", "https://x.test", env, "HTTPS_PROXY http://secure.test:2/"],
    ["uses HTTP_PROXY for http", "http://x.test", env, "HTTP_PROXY http://plain.test:1/"],
    [
      "falls back to http_proxy for https",
      "https://x.test",
      { http_proxy: "http://plain.test" },
      "http_proxy http://plain.test/",
    ],
    [
      "does not use HTTPS_PROXY for http",
      "http://x.test",
      { HTTPS_PROXY: "http://secure.test:2" },
      undefined,
    ],
    ["returns undefined without variables", "https://x.test", {}, undefined],
    [
      "prefers the lower-case variable",
      "https://x.test",
      { ...env, https_proxy: "http://low.test" },
      "https_proxy http://low.test/",
    ],
    ["treats an empty variable as no proxy", "https://x.test", { ...env, https_proxy: "" }, undefined],
    [
      "accepts a host without a protocol",
      "https://x.test",
      { HTTPS_PROXY: "secure.test:3128" },
      "HTTPS_PROXY http://secure.test:3128/",
    ],
    [
      "accepts an https proxy",
      "https://x.test",
      { HTTPS_PROXY: "https://secure.test" },
      "HTTPS_PROXY https://secure.test/",
    ],
  ])("%s", (_, server, variables: Environment, expected) => {
    expect(describeProxy(server, variables)).toBe(expected);
  });

  it.each([
    "http://localhost:3000",
    "http://api.localhost",
    "http://127.0.0.1",
    "https://127.8.9.1",
    "http://[::1]:8080",
  ])("returns undefined for the loopback host %s", (server) => {
    expect(describeProxy(server, env)).toBeUndefined();
  });

  it.each(["socks5://ann:canary-7@x.test", "ftp://canary-7", "http://", "http://x y canary-7"])(
    "rejects %s without including it in the error",
    (value) => {
      const failure = (() => {
        try {
          return findProxy(new URL("https://x.test"), { HTTPS_PROXY: value });
        } catch (error) {
          return error;
        }
      })();
      expect(failure).toMatchObject({
        kind: "invalid-config",
        message: expect.stringContaining("HTTPS_PROXY"),
      });
      expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary-7");
    },
  );

  it("ignores an invalid proxy for an exempt server", () => {
    expect(
      describeProxy("https://x.test", { HTTPS_PROXY: "socks5://x", NO_PROXY: "x.test" }),
    ).toBeUndefined();
    expect(describeProxy("http://localhost", { HTTP_PROXY: "socks5://x" })).toBeUndefined();
  });
});

describe("NO_PROXY", () => {
  it.each([
    ["*", "https://x.test"],
    ["x.test", "https://x.test"],
    ["X.TEST", "https://x.test"],
    ["test", "https://x.test"],
    [".x.test", "https://a.x.test"],
    [".x.test", "https://x.test"],
    ["*.x.test", "https://a.b.x.test"],
    ["other.test,x.test", "https://x.test"],
    ["other.test x.test", "https://x.test"],
    ["x.test:443", "https://x.test"],
    ["x.test:8443", "https://x.test:8443"],
    ["10.1.2.3", "https://10.1.2.3"],
    ["10.0.0.0/8", "https://10.1.2.3:8443"],
    ["fd00::/8", "https://[fd12::1]"],
    ["[fd12::1]", "https://[fd12::1]"],
    ["[fd12::1]:443", "https://[fd12::1]"],
  ])("%s exempts %s", (noProxy, server) => {
    expect(describeProxy(server, { ...env, NO_PROXY: noProxy })).toBeUndefined();
    expect(describeProxy(server, { ...env, NO_PROXY: "unrelated", no_proxy: noProxy })).toBeUndefined();
  });

  it.each([
    ["", "https://x.test"],
    [",", "https://x.test"],
    [".", "https://x.test"],
    ["y.test", "https://x.test"],
    ["x.test", "https://xx.test"],
    ["a.x.test", "https://x.test"],
    ["x.test:8443", "https://x.test"],
    ["10.0.0.0/8", "https://11.1.2.3"],
    ["10.0.0.0/99", "https://10.1.2.3"],
    ["10.0.0.0/", "https://10.1.2.3"],
    ["fd00::/8", "https://10.1.2.3"],
    ["10.0.0.0/8", "https://x10.test"],
  ])("%s does not exempt %s", (noProxy, server) => {
    expect(describeProxy(server, { ...env, NO_PROXY: noProxy })).toBe("HTTPS_PROXY http://secure.test:2/");
  });
});
