import { describe, expect, it } from "vitest";
import { definitionHash } from "../../../src/config/server-fingerprint.js";
import { parseServer } from "../../../src/config/parse-server.js";
import type { ServerDefinition } from "../../../src/index.js";
import { definitionErrorOf } from "./config-error-of.js";

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
const parsed = (auth: unknown) => parseServer("crm", definitionWith(auth));
const issuesWith = (auth: unknown) => definitionErrorOf(() => parsed(auth)).issues;

describe("a grant in a definition", () => {
  it.each([
    ["jwt-bearer", bearer],
    ["jwt-bearer of this machine", { ...bearer, issuer: "http://127.0.0.1:9/tenant", assertion: () => jwt }],
    ["enterprise-managed", managed],
  ])("%s needs no identity", (_, auth) => {
    expect(parsed(auth).identity).toBeUndefined();
  });

  it("with a function for a user's token needs one: it could be anybody's", () => {
    const auth = { ...managed, idToken: () => jwt };
    expect(issuesWith(auth)).toMatchObject([
      { path: "identity", message: expect.stringContaining("auth.idToken depends on the caller") },
    ]);
    const definition = { ...definitionWith(auth), identity: () => "ann" } as ServerDefinition;
    expect(parseServer("crm", definition).identity).toBeTypeOf("function");
  });

  it.each([
    [
      "no issuer",
      { ...bearer, issuer: undefined },
      "auth.issuer",
      "expected an address that starts with https://",
    ],
    ["one without TLS", { ...bearer, issuer: "http://auth.example" }, "auth.issuer", "expected https://"],
    [
      "a word for a JWT",
      { ...bearer, assertion: "secret" },
      "auth.assertion",
      "expected a JWT, or a function",
    ],
    ["nothing for a JWT", { ...managed, idToken: "" }, "auth.idToken", "expected a JWT, or a function"],
    ["a secret of nobody", { ...bearer, clientSecret: "x" }, "auth.clientId", "a secret belongs to a client"],
    [
      "a key of the other",
      { ...bearer, idToken: jwt },
      "auth",
      'unknown key "idToken"; allowed are grant, issuer',
    ],
    [
      "no identity provider",
      { ...managed, identityProvider: {} },
      "auth.identityProvider.tokenEndpoint",
      "expected an",
    ],
    ["another grant", { ...bearer, grant: "password" }, "auth.grant", '"jwt-bearer" or "enterprise-managed"'],
    ["a token", "token", "auth", "expected a function that gives a token, or an OAuth provider"],
  ])("%s is a mistake", (_, auth, path, message) => {
    const issues = issuesWith(auth);
    expect(issues.map((issue) => issue.path)).toContain(path);
    expect(issues.map((issue) => issue.message).join()).toContain(message);
    expect(JSON.stringify(issues)).not.toContain(jwt);
  });

  it("has secrets that are never shown", () => {
    expect(parsed(managed).secrets).toEqual(expect.arrayContaining([jwt, "hush-2", "hush-3"]));
    expect(parsed(bearer).secrets).toContain(jwt);
  });

  it("tells servers of one name apart by who asks", () => {
    const ask = () => jwt;
    const clients = ["one", "other"].map((clientId) =>
      definitionHash("crm", definitionWith({ ...bearer, assertion: ask, clientId })),
    );
    expect(clients[0]).not.toBe(clients[1]);
  });
});
