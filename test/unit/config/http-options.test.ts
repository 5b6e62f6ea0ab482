import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { parseServer, parseServers } from "../../../src/config/parse-server.js";
import { pemFile } from "../../fixtures/pem-file.js";
import { definitionErrorOf } from "./config-error-of.js";

const ca = pemFile("authority");
const cert = pemFile("client");
const key = pemFile("client-key");
const dispatch = () => true;

function issuesOf(options: object): unknown {
  const url = "https://x.test";
  return definitionErrorOf(() => parseServers({ a: { url, ...options } })).issues;
}

describe("tls", () => {
  it.each([
    ["nothing", {}],
    ["an authority", { ca }],
    ["several", { ca: [ca, Buffer.from(pemFile("stranger"))] }],
    ["several in one text", { ca: `# ours\n${ca}\n# theirs\n${pemFile("stranger")}` }],
    ["a certificate and its key", { cert, key }],
    ["a certificate that others may see", { cert, key, certOrigins: ["https://login.test:8443"] }],
    [
      "a certificate with its authority, as bytes",
      { cert: Buffer.from(`${cert}${ca}`), key: Buffer.from(key) },
    ],
  ])("may be %s", (_, tls) => {
    expect(parseServer("a", { url: "https://x.test", tls }).address).toMatchObject({ tls });
    expect(parseServer("a", { type: "sse", url: "https://x.test", tls }).address).toMatchObject({ tls });
  });

  const certificates = "expected certificates in PEM, as text or as a Buffer";
  const privateKey = "expected a private key without passphrase in PEM, as text or as a Buffer";
  it.each([
    ["a path", { ca: "/etc/ssl/ca.pem" }, "ca", certificates],
    ["a number", { ca: 7 }, "ca", certificates],
    ["no authority at all", { ca: [] }, "ca", certificates],
    ["one that is broken", { ca: [ca, ca.replace(/M.{9}/, "M")] }, "ca[1]", certificates],
    ["bytes that are no text", { ca: Buffer.from([0x30, 0x82, 1, 2]) }, "ca", certificates],
    ["a key in the place of a certificate", { cert: key, key }, "cert", certificates],
    ["a certificate in the place of a key", { cert, key: cert }, "key", privateKey],
    ["a certificate without key", { cert }, "key", "is missing: a certificate needs its key"],
    ["a key without certificate", { key }, "cert", "is missing: a key needs its certificate"],
    ["another's key", { cert, key: pemFile("server-key") }, "key", "is not the key of cert"],
    ["another option", { pfx: "" }, "", 'unknown key "pfx"; allowed are ca, cert, key, certOrigins'],
    [
      "one other that is no list",
      { cert, key, certOrigins: "https://a.test" },
      "certOrigins",
      "expected a list of origins",
    ],
    [
      "an origin that is an address",
      { cert, key, certOrigins: ["https://ann:pass@login.test/token?q=1"] },
      "certOrigins[0]",
      'expected no more than an origin, such as "https://login.test"',
    ],
    [
      "an origin without TLS",
      { cert, key, certOrigins: ["http://login.test"] },
      "certOrigins[0]",
      'expected an address that starts with https://, found "http://login.test/"',
    ],
    [
      "who may see no certificate",
      { ca, certOrigins: ["https://login.test"] },
      "certOrigins",
      "has no effect without a certificate: give cert and key",
    ],
  ])("may not be %s", (_, tls, path, message) => {
    expect(issuesOf({ tls })).toEqual([{ path: path === "" ? "a.tls" : `a.tls.${path}`, message }]);
  });

  it("writes the origins of others as they are compared", () => {
    const tls = { cert, key, certOrigins: ["HTTPS://Login.TEST:443/"] };
    const parsed = parseServer("a", { url: "https://x.test", tls }).address;
    expect(parsed).toMatchObject({ tls: { certOrigins: ["https://login.test"] } });
  });

  it("is never shown, and known as a secret", () => {
    const [, keyLine = "?", secondLine = "?"] = key.split("\n");
    const { secrets } = parseServer("a", { url: "https://x.test", tls: { ca, cert, key } });
    expect(secrets).toEqual(expect.arrayContaining([keyLine, secondLine, cert.trim(), ca.trim()]));
    const error = definitionErrorOf(() =>
      parseServers({
        a: { url: "https://x.test", tls: { cert: key, key: `${key}${key}`, ca: key }, fetch: key },
      }),
    );
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(keyLine);
  });
});

describe("connections of the caller's own", () => {
  it.each([
    ["a dispatcher", { dispatcher: { dispatch } }],
    ["a fetch", { fetch }],
  ])("are passed on as they are: %s", (_, own) => {
    expect(parseServer("a", { url: "https://x.test", ...own } as never).address).toMatchObject(own);
  });

  it.each([
    [
      "something else",
      { dispatcher: {} },
      "dispatcher",
      "expected an undici dispatcher: an object with dispatch()",
    ],
    ["an address", { fetch: "https://proxy.test" }, "fetch", "expected a function"],
    [
      "two at once",
      { dispatcher: { dispatch }, fetch },
      "fetch",
      "cannot stand next to dispatcher: give one",
    ],
    [
      "a dispatcher next to tls",
      { dispatcher: { dispatch }, tls: { ca } },
      "tls",
      "has no effect on a dispatcher of your own: set it up there",
    ],
    [
      "a fetch next to tls",
      { fetch, tls: { ca } },
      "tls",
      "has no effect on a fetch of your own: set it up there",
    ],
  ])("may not be %s", (_, own, path, message) => {
    expect(issuesOf(own)).toEqual([{ path: `a.${path}`, message }]);
  });

  it("belong to servers over HTTP", () => {
    expect(definitionErrorOf(() => parseServers({ a: { command: "npx", tls: { ca } } })).issues).toEqual([
      { path: "a", message: expect.stringContaining('unknown key "tls"') },
    ]);
  });
});
