import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { parseServer, parseServers } from "../../../src/config/parse-server.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

/** Everything that a log or a span could contain of the error. */
function inspectError(json: unknown): string {
  const error = catchConfigError(() => parseServers(json));
  return inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error);
}

const withHeaders = (headers: unknown) => ({ a: { url: "http://x.test", headers } });

describe("headers", () => {
  it.each(["X-Key", "authorization", "x_custom.1", "!#$%&'*+-.^_`|~"])("%s is a valid name", (name) => {
    expect(parseServers(withHeaders({ [name]: "v" }))).toEqual(withHeaders({ [name]: "v" }));
  });

  it.each(["", "X Key", "X:Key", "X\nKey", "Schlüssel"])("%j is not a valid name", (name) => {
    expect(catchConfigError(() => parseServers(withHeaders({ [name]: "v" }))).issues).toEqual([
      { path: "a.headers", message: expect.stringContaining("header name") },
    ]);
  });

  it.each(["", "plain", "with\ttab", "Grüße"])("%j is a valid value", (value) => {
    expect(parseServers(withHeaders({ X: value }))).toEqual(withHeaders({ X: value }));
  });

  it.each(["a\r\nX-Evil: 1", "a\nb", "a\u0000b", "世界"])("%j is not a valid value", (value) => {
    expect(catchConfigError(() => parseServers(withHeaders({ "X-Key": value }))).issues).toEqual([
      { path: "a.headers.X-Key", message: expect.stringContaining("control characters") },
    ]);
  });

  it("an invalid value is not shown", () => {
    expect(
      inspectError(withHeaders({ "X-Key": "canary-7\n", "X-Other": { token: "canary-7" } })),
    ).not.toContain("canary-7");
  });

  it("a whole header written as its name is not shown", () => {
    expect(inspectError(withHeaders({ "X-Key: canary-7": "" }))).not.toContain("canary-7");
  });
});

describe("a URL with credentials is never shown", () => {
  it.each([
    ["with another protocol", { url: "ftp://canary-7:canary-7@x.test/mcp?key=canary-7#canary-7" }],
    ["of another transport", { type: "websocket", url: "https://canary-7@x.test/?canary-7" }],
    ["that is invalid", { url: "http://ann:canary-7@x.test:port/?key=canary-7" }],
    ["as a URL object", { url: new URL("ftp://ann:canary-7@x.test/?key=canary-7") }],
    ["next to another problem", { url: "https://ann:canary-7@x.test/?key=canary-7", headers: 7 }],
    ["with two transports", { url: "https://ann:canary-7@x.test/?key=canary-7", command: "npx" }],
    ["for a transport without a URL", { type: "stdio", url: "https://ann:canary-7@x.test/?key=canary-7" }],
  ])("%s", (_, definition) => {
    expect(inspectError({ a: definition })).not.toContain("canary-7");
  });

  it("the origin and path of a URL are shown", () => {
    expect(inspectError({ a: { url: "ftp://ann:canary-7@x.test/mcp?key=1" } })).toContain(
      `"ftp://x.test/mcp"`,
    );
  });

  it.each([
    ["without a protocol", { url: "ann:canary-7@x.test/mcp" }],
    ["with an unnamed query parameter", { url: "x.test/mcp?canary-7" }],
    ["with a fragment", { url: "x.test/mcp#token=canary-7" }],
    ["in place of the type", { type: "https://ann:canary-7@x.test" }],
    ["in an object in place of the type", { type: { token: "canary-7" } }],
    ["in place of the transport", { type: "http", transport: "https://x.test/?k=canary-7" }],
  ])("%s", (_, definition) => {
    expect(inspectError({ a: definition })).not.toContain("canary-7");
  });
});

describe("other secrets are never shown", () => {
  it.each([
    ["a session id", { url: "http://x.test", session: { id: "canary-7 canary-7" } }],
    ["an environment", { command: "npx", env: { KEY: ["canary-7"] } }],
    ["an argument", { command: "npx", args: "--key canary-7" }],
    ["a string instead of a definition", "canary-7"],
  ])("%s", (_, definition) => {
    expect(inspectError({ a: definition })).not.toContain("canary-7");
  });
});

describe("text that is not valid JSON", () => {
  it.each([
    `{"token": canary-7}`,
    `{"token": "canary-7`,
    "canary-7",
    `{"a":{"key":"canary-7"},}`,
    `["canary-7"`,
  ])("%s is not quoted", (text) => {
    expect(inspectError(text)).not.toContain("canary");
  });

  it("is reported with the position of the error", () => {
    const { issues } = catchConfigError(() => parseServers(`{"token": "canary-7`));
    expect(issues).toEqual([{ path: "", message: expect.stringMatching(/position 19\b/) }]);
  });

  it("the position is taken from the parser message, not from the text that it quotes", () => {
    expect(inspectError("position 424242")).not.toContain("424242");
  });
});

describe("the secrets of a definition", () => {
  it("are those it lists, and variables with secret names", () => {
    const { secrets } = parseServer("a", {
      command: "serve",
      args: ["plain"],
      env: { GITHUB_PAT: "by-its-name", PATH_TO: "/srv", COMPATIBLE: "yes-it-is" },
      secrets: ["plain"],
    });
    expect(secrets).toEqual(["by-its-name", "plain"]);
  });
});
