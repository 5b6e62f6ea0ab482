import { describe, expect, it } from "vitest";
import { serverFingerprint } from "../../../src/config/server-fingerprint.js";
import { parseServer } from "../../../src/config/parse-server.js";
import type { ServerDefinition } from "../../../src/index.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const url = "https://crm.example/mcp";
const jwt = "eyJh.eyJz.c2ln";
const bearer = { grant: "jwt-bearer", issuer: "https://auth.example", assertion: jwt };
const managed = {
  grant: "enterprise-managed",
  issuer: "https://auth.example",
  clientId: "crm",
  clientSecret: "hush-2",
  idToken: jwt,
  identityProvider: {
    tokenEndpoint: "https://idp.example/token",
    clientId: "agents",
    clientSecret: "hush-3",
  },
};

const definitionWith = (auth: unknown) => ({ url, auth }) as ServerDefinition;
const parse = (auth: unknown) => parseServer("crm", definitionWith(auth));
const findIssues = (auth: unknown) => catchConfigError(() => parse(auth)).issues;

describe("a grant in a definition", () => {
  it.each([
    ["jwt-bearer", bearer],
    [
      "jwt-bearer with a loopback issuer",
      { ...bearer, issuer: "http://127.0.0.1:9/tenant", assertion: () => jwt },
    ],
    ["enterprise-managed", managed],
  ])("%s does not require an identity", (_, auth) => {
    expect(parse(auth).identity).toBeUndefined();
  });

  it("an idToken function requires an identity, because it could return the token of any user", () => {
    const auth = { ...managed, idToken: () => jwt };
    expect(findIssues(auth)).toMatchObject([
      { path: "identity", message: expect.stringContaining("auth.idToken") },
    ]);
    const definition = { ...definitionWith(auth), identity: () => "ann" } as ServerDefinition;
    expect(parseServer("crm", definition).identity).toBeTypeOf("function");
  });

  it.each([
    ["a string that is not a JWT", { ...bearer, assertion: "secret" }, "auth.assertion"],
    ["an empty JWT", { ...managed, idToken: "" }, "auth.idToken"],
    [
      "an empty identity provider",
      { ...managed, identityProvider: {} },
      "auth.identityProvider.tokenEndpoint",
    ],
    ["an unknown grant", { ...bearer, grant: "password" }, "auth.grant"],
  ])("%s is rejected", (_, auth, path) => {
    const issues = findIssues(auth);
    expect(issues.map((issue) => issue.path)).toContain(path);
    expect(JSON.stringify(issues)).not.toContain(jwt);
  });

  it.each([
    ["a missing issuer", { ...bearer, issuer: undefined }, "auth.issuer", "expected a URL"],
    [
      "an issuer without TLS",
      { ...bearer, issuer: "http://auth.example" },
      "auth.issuer",
      "expected https://",
    ],
    ["a secret without a client", { ...bearer, clientSecret: "x" }, "auth.clientId", "clientSecret"],
    ["a key of the other grant", { ...bearer, idToken: jwt }, "auth", 'key "idToken"'],
    ["a string", "token", "auth", "expected a function"],
  ])("%s is rejected with a specific message", (_, auth, path, words) => {
    const issues = findIssues(auth);
    expect(issues).toContainEqual({ path, message: expect.stringContaining(words) });
    expect(JSON.stringify(issues)).not.toContain(jwt);
  });

  it("its secrets are collected for redaction", () => {
    expect(parse(managed).secrets).toEqual(expect.arrayContaining([jwt, "hush-2", "hush-3"]));
    expect(parse(bearer).secrets).toContain(jwt);
  });

  it("the fingerprint depends on the client id", () => {
    const ask = () => jwt;
    const clients = ["one", "other"].map((clientId) =>
      serverFingerprint(parse({ ...bearer, assertion: ask, clientId })),
    );
    expect(clients[0]).not.toBe(clients[1]);
  });
});
