import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactText, redactUrl } from "../../../src/errors/redaction.js";

describe("redactText removes", () => {
  it.each([
    ["Authorization: Bearer eyJhbGciOi.J9-_x~y+z/w==", "Authorization: Bearer [redacted]"],
    ["bearer abc123 was refused", "bearer [redacted] was refused"],
    ["BEARER abc123", "BEARER [redacted]"],
    ["Basic dXNlcjpwYXNz is wrong", "Basic [redacted] is wrong"],
    ["https://ann:secret@example.com/mcp", "https://[redacted]@example.com/mcp"],
    ["https://token@example.com/mcp", "https://[redacted]@example.com/mcp"],
    ["GET /mcp?api_key=abc&user=ann#top", "GET /mcp?api_key=[redacted]&user=[redacted]#top"],
    [`<a href="https://example.com/?code=x1">`, `<a href="https://example.com/?code=[redacted]">`],
    [
      "first https://a:b@x.test then https://c:d@y.test",
      "first https://[redacted]@x.test then https://[redacted]@y.test",
    ],
  ])("%s", (text, redacted) => {
    expect(redactText(text)).toBe(redacted);
  });
});

describe("redactText keeps", () => {
  it.each([
    "",
    "Bearer token missing",
    "basic authentication is required",
    "Is it running? See https://example.com/docs/mcp",
    "write to ann@example.com",
    "2 + 2 = 4 & more",
    "npm i @scope/package // or ask",
  ])("%j", (text) => {
    expect(redactText(text)).toBe(text);
  });

  it("redacted text unchanged", () => {
    const once = redactText("Bearer abc123 at https://a:b@x.test/?k=v");
    expect(redactText(once)).toBe(once);
  });
});

describe("redactUrl", () => {
  it("keeps only the protocol, host, port and path", () => {
    expect(redactUrl("https://ann:secret@example.com:8443/a/mcp?key=abc#top")).toBe(
      "https://example.com:8443/a/mcp",
    );
  });

  it("accepts a URL object, too", () => {
    expect(redactUrl(new URL("http://ann@localhost:3000/mcp?key=abc"))).toBe("http://localhost:3000/mcp");
  });

  it("returns undefined for an invalid URL", () => {
    expect(redactUrl("//ann:S3cret@example.com/?key=S3cret")).toBeUndefined();
  });

  it("never contains the user, password, query or fragment of any web URL", () => {
    const canary = fc.stringMatching(/^[a-z]{4,12}$/).map((word) => `ZZ${word}`);
    const address = fc.webUrl({ validSchemes: ["http", "https", "ws", "wss"] });
    fc.assert(
      fc.property(address, canary, (base, secret) => {
        const url = new URL(base);
        url.username = url.password = url.search = url.hash = secret;
        expect(redactUrl(url)).not.toContain(secret);
      }),
    );
  });
});

describe("a credential in a malformed URL is not shown:", () => {
  it.each([
    ["no protocol before the user", "ann:S3cret@example.com/mcp"],
    ["a query without a name", "example.com/mcp?S3cret"],
    ["a query with brackets in its name", "example.com/mcp?auth[key]=S3cret"],
    ["a fragment", "example.com/mcp#access_token=S3cret"],
    ["a password with a space", "http://ann:S3cret word@example.com:port/"],
    ["a password with a quote", `http://ann:S3cret"@example.com:port/`],
  ])("%s", (_, url) => {
    expect(redactUrl(url) ?? "").not.toContain("S3cret");
  });

  it("a password with an @ is redacted in a text", () => {
    expect(redactText("at https://ann:p@S3cret@example.com/mcp")).not.toContain("S3cret");
  });
});
