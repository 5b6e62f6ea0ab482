import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { parseServer, parseServers } from "../../../src/config/parse-server.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const ca = readPemFile("authority");
const cert = readPemFile("client");
const key = readPemFile("client-key");
const dispatch = () => true;

function findIssues(options: object): unknown {
  const url = "https://x.test";
  return catchConfigError(() => parseServers({ a: { url, ...options } })).issues;
}

describe("tls", () => {
  it.each([
    ["empty", {}],
    ["a certificate authority", { ca }],
    ["several authorities", { ca: [ca, Buffer.from(readPemFile("other-authority"))] }],
    [
      "several authorities in one string",
      { ca: `# ours\n${ca}\n# theirs\n${readPemFile("other-authority")}` },
    ],
    ["a certificate and its key", { cert, key }],
    ["a certificate with further origins", { cert, key, certOrigins: ["https://login.test:8443"] }],
    [
      "a certificate with its authority, as a Buffer",
      { cert: Buffer.from(`${cert}${ca}`), key: Buffer.from(key) },
    ],
  ])("may be %s", (_, tls) => {
    expect(parseServer("a", { url: "https://x.test", tls }).address).toMatchObject({ tls });
    expect(parseServer("a", { type: "sse", url: "https://x.test", tls }).address).toMatchObject({ tls });
  });

  it.each([
    ["a path", { ca: "/etc/ssl/ca.pem" }, "a.tls.ca"],
    ["a number", { ca: 7 }, "a.tls.ca"],
    ["an empty array", { ca: [] }, "a.tls.ca"],
    ["an invalid certificate", { ca: [ca, ca.replace(/M.{9}/, "M")] }, "a.tls.ca[1]"],
    ["binary data", { ca: Buffer.from([0x30, 0x82, 1, 2]) }, "a.tls.ca"],
  ])("may not have %s as a certificate authority", (_, tls, path) => {
    expect(findIssues({ tls })).toMatchObject([{ path }]);
  });

  it.each([
    ["a key instead of a certificate", { cert: key, key }, "a.tls.cert", "PEM certificates"],
    ["a certificate instead of a key", { cert, key: cert }, "a.tls.key", "PEM private key"],
    ["a certificate without a key", { cert }, "a.tls.key", "required"],
    ["a key without a certificate", { key }, "a.tls.cert", "required"],
    ["a key of another certificate", { cert, key: readPemFile("server-key") }, "a.tls.key", "match"],
    ["an unknown option", { pfx: "" }, "a.tls", 'key "pfx"'],
    [
      "a string as certOrigins",
      { cert, key, certOrigins: "https://a.test" },
      "a.tls.certOrigins",
      "an array",
    ],
    [
      "an origin with a path",
      { cert, key, certOrigins: ["https://ann:pass@login.test/token?q=1"] },
      "a.tls.certOrigins[0]",
      'without a path, such as "https://login.test"',
    ],
    [
      "an origin without TLS",
      { cert, key, certOrigins: ["http://login.test"] },
      "a.tls.certOrigins[0]",
      'got "http://login.test/"',
    ],
    [
      "certOrigins without a certificate",
      { ca, certOrigins: ["https://login.test"] },
      "a.tls.certOrigins",
      "no effect",
    ],
  ])("may not be %s", (_, tls, path, words) => {
    expect(findIssues({ tls })).toEqual([{ path, message: expect.stringContaining(words) }]);
  });

  it("normalizes certOrigins", () => {
    const tls = { cert, key, certOrigins: ["HTTPS://Login.TEST:443/"] };
    const parsed = parseServer("a", { url: "https://x.test", tls }).address;
    expect(parsed).toMatchObject({ tls: { certOrigins: ["https://login.test"] } });
  });

  it("is never shown, and collected as a secret", () => {
    const [, keyLine = "?", secondLine = "?"] = key.split("\n");
    const { secrets } = parseServer("a", { url: "https://x.test", tls: { ca, cert, key } });
    expect(secrets).toEqual(expect.arrayContaining([keyLine, secondLine, cert.trim(), ca.trim()]));
    const error = catchConfigError(() =>
      parseServers({
        a: { url: "https://x.test", tls: { cert: key, key: `${key}${key}`, ca: key }, fetch: key },
      }),
    );
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(keyLine);
  });
});

describe("custom connections", () => {
  it.each([
    ["a dispatcher", { dispatcher: { dispatch } }],
    ["a fetch", { fetch }],
  ])("are passed on unchanged: %s", (_, own) => {
    expect(parseServer("a", { url: "https://x.test", ...own } as never).address).toMatchObject(own);
  });

  it.each([
    ["a URL as fetch", { fetch: "https://proxy.test" }, "a.fetch", "expected a function"],
    ["a dispatcher and a fetch", { dispatcher: { dispatch }, fetch }, "a.fetch", "dispatcher"],
    ["a dispatcher next to tls", { dispatcher: { dispatch }, tls: { ca } }, "a.tls", "custom dispatcher"],
    ["a fetch next to tls", { fetch, tls: { ca } }, "a.tls", "custom fetch"],
  ])("may not be %s", (_, own, path, words) => {
    expect(findIssues(own)).toEqual([{ path, message: expect.stringContaining(words) }]);
  });

  it("may not be an object without dispatch()", () => {
    expect(findIssues({ dispatcher: {} })).toMatchObject([{ path: "a.dispatcher" }]);
  });

  it("are rejected for servers without HTTP", () => {
    expect(catchConfigError(() => parseServers({ a: { command: "npx", tls: { ca } } })).issues).toEqual([
      { path: "a", message: expect.stringContaining('"tls"') },
    ]);
  });
});
