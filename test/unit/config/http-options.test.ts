import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { parseServer, parseServers } from "../../../src/config/parse-server.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { catchConfigError } from "./catch-config-error.js";

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

  const certificates = "expected PEM certificates as a string or Buffer";
  const privateKey = "expected a PEM private key without a passphrase, as a string or Buffer";
  it.each([
    ["a path", { ca: "/etc/ssl/ca.pem" }, "ca", certificates],
    ["a number", { ca: 7 }, "ca", certificates],
    ["an empty array", { ca: [] }, "ca", certificates],
    ["an invalid certificate", { ca: [ca, ca.replace(/M.{9}/, "M")] }, "ca[1]", certificates],
    ["binary data", { ca: Buffer.from([0x30, 0x82, 1, 2]) }, "ca", certificates],
    ["a key instead of a certificate", { cert: key, key }, "cert", certificates],
    ["a certificate instead of a key", { cert, key: cert }, "key", privateKey],
    ["a certificate without a key", { cert }, "key", "is required with cert"],
    ["a key without a certificate", { key }, "cert", "is required with key"],
    ["a key of another certificate", { cert, key: readPemFile("server-key") }, "key", "does not match cert"],
    ["an unknown option", { pfx: "" }, "", 'unknown key "pfx"; valid keys: ca, cert, key, certOrigins'],
    [
      "a string as certOrigins",
      { cert, key, certOrigins: "https://a.test" },
      "certOrigins",
      "expected an array of origins",
    ],
    [
      "an origin with a path",
      { cert, key, certOrigins: ["https://ann:pass@login.test/token?q=1"] },
      "certOrigins[0]",
      'expected an origin without a path, such as "https://login.test"',
    ],
    [
      "an origin without TLS",
      { cert, key, certOrigins: ["http://login.test"] },
      "certOrigins[0]",
      'expected a URL starting with https://, got "http://login.test/"',
    ],
    [
      "certOrigins without a certificate",
      { ca, certOrigins: ["https://login.test"] },
      "certOrigins",
      "has no effect without cert and key",
    ],
  ])("may not be %s", (_, tls, path, message) => {
    expect(findIssues({ tls })).toEqual([{ path: path === "" ? "a.tls" : `a.tls.${path}`, message }]);
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
    [
      "an object without dispatch()",
      { dispatcher: {} },
      "dispatcher",
      "expected an undici dispatcher: an object with dispatch()",
    ],
    ["a URL as fetch", { fetch: "https://proxy.test" }, "fetch", "expected a function"],
    [
      "a dispatcher and a fetch",
      { dispatcher: { dispatch }, fetch },
      "fetch",
      "cannot be combined with dispatcher: use one of them",
    ],
    [
      "a dispatcher next to tls",
      { dispatcher: { dispatch }, tls: { ca } },
      "tls",
      "has no effect with a custom dispatcher: configure TLS there",
    ],
    [
      "a fetch next to tls",
      { fetch, tls: { ca } },
      "tls",
      "has no effect with a custom fetch: configure TLS there",
    ],
  ])("may not be %s", (_, own, path, message) => {
    expect(findIssues(own)).toEqual([{ path: `a.${path}`, message }]);
  });

  it("are rejected for servers without HTTP", () => {
    expect(catchConfigError(() => parseServers({ a: { command: "npx", tls: { ca } } })).issues).toEqual([
      { path: "a", message: expect.stringContaining('unknown key "tls"') },
    ]);
  });
});
