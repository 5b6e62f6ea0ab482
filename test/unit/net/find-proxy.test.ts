import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { type Environment, findProxy } from "../../../src/net/find-proxy.js";

function proxyOf(server: string, env: Environment): string | undefined {
  const found = findProxy(new URL(server), env);
  return found && `${found.variable} ${found.url.href}`;
}

const env = { HTTP_PROXY: "http://plain.test:1", HTTPS_PROXY: "http://secure.test:2" };

describe("the proxy of a server", () => {
  it.each([
    ["https has its own", "https://x.test", env, "HTTPS_PROXY http://secure.test:2/"],
    ["http has its own", "http://x.test", env, "HTTP_PROXY http://plain.test:1/"],
    [
      "https falls back",
      "https://x.test",
      { http_proxy: "http://plain.test" },
      "http_proxy http://plain.test/",
    ],
    ["http does not", "http://x.test", { HTTPS_PROXY: "http://secure.test:2" }, undefined],
    ["there is none", "https://x.test", {}, undefined],
    [
      "lower case wins",
      "https://x.test",
      { ...env, https_proxy: "http://low.test" },
      "https_proxy http://low.test/",
    ],
    ["set to nothing is none", "https://x.test", { ...env, https_proxy: "" }, undefined],
    [
      "a host is enough",
      "https://x.test",
      { HTTPS_PROXY: "secure.test:3128" },
      "HTTPS_PROXY http://secure.test:3128/",
    ],
    [
      "over TLS",
      "https://x.test",
      { HTTPS_PROXY: "https://secure.test" },
      "HTTPS_PROXY https://secure.test/",
    ],
  ])("%s", (_, server, variables: Environment, expected) => {
    expect(proxyOf(server, variables)).toBe(expected);
  });

  it.each([
    "http://localhost:3000",
    "http://api.localhost",
    "http://127.0.0.1",
    "https://127.8.9.1",
    "http://[::1]:8080",
  ])("is none for one on this machine: %s", (server) => {
    expect(proxyOf(server, env)).toBeUndefined();
  });

  it.each(["socks5://ann:canary-7@x.test", "ftp://canary-7", "http://", "http://x y canary-7"])(
    "is an error for %s, which does not show it",
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

  it("that cannot be used is no error for a server that needs none", () => {
    expect(proxyOf("https://x.test", { HTTPS_PROXY: "socks5://x", NO_PROXY: "x.test" })).toBeUndefined();
    expect(proxyOf("http://localhost", { HTTP_PROXY: "socks5://x" })).toBeUndefined();
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
    expect(proxyOf(server, { ...env, NO_PROXY: noProxy })).toBeUndefined();
    expect(proxyOf(server, { ...env, NO_PROXY: "nobody", no_proxy: noProxy })).toBeUndefined();
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
    expect(proxyOf(server, { ...env, NO_PROXY: noProxy })).toBe("HTTPS_PROXY http://secure.test:2/");
  });
});
