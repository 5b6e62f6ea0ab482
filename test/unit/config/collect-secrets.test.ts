import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { parseServer, parseServers } from "../../../src/config/parse-server.js";
import { definitionErrorOf } from "./config-error-of.js";

/** Everything that a reader, a logger or a span could get to see of the error. */
function everythingShown(json: unknown): string {
  const error = definitionErrorOf(() => parseServers(json));
  return inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error);
}

const withHeaders = (headers: unknown) => ({ a: { url: "http://x.test", headers } });

describe("headers", () => {
  it.each(["X-Key", "authorization", "x_custom.1", "!#$%&'*+-.^_`|~"])("%s is a name", (name) => {
    expect(parseServers(withHeaders({ [name]: "v" }))).toEqual(withHeaders({ [name]: "v" }));
  });

  it.each(["", "X Key", "X:Key", "X\nKey", "Schlüssel"])("%j is no name", (name) => {
    expect(definitionErrorOf(() => parseServers(withHeaders({ [name]: "v" }))).issues).toEqual([
      { path: "a.headers", message: "has a key that is no header name" },
    ]);
  });

  it.each(["", "plain", "with\ttab", "Grüße"])("%j is a value", (value) => {
    expect(parseServers(withHeaders({ X: value }))).toEqual(withHeaders({ X: value }));
  });

  it.each(["a\r\nX-Evil: 1", "a\nb", "a\u0000b", "世界"])("%j is no value", (value) => {
    expect(definitionErrorOf(() => parseServers(withHeaders({ "X-Key": value }))).issues).toEqual([
      { path: "a.headers.X-Key", message: "a header value has no line breaks or control characters" },
    ]);
  });

  it("a value that is refused is not shown", () => {
    expect(
      everythingShown(withHeaders({ "X-Key": "canary-7\n", "X-Other": { token: "canary-7" } })),
    ).not.toContain("canary-7");
  });

  it("a whole header written as a name is not shown", () => {
    expect(everythingShown(withHeaders({ "X-Key: canary-7": "" }))).not.toContain("canary-7");
  });
});

describe("an address with credentials is never shown", () => {
  it.each([
    ["of another protocol", { url: "ftp://canary-7:canary-7@x.test/mcp?key=canary-7#canary-7" }],
    ["of another kind", { type: "websocket", url: "https://canary-7@x.test/?canary-7" }],
    ["that is broken", { url: "http://ann:canary-7@x.test:port/?key=canary-7" }],
    ["of a URL object", { url: new URL("ftp://ann:canary-7@x.test/?key=canary-7") }],
    ["next to another problem", { url: "https://ann:canary-7@x.test/?key=canary-7", headers: 7 }],
    ["of two kinds", { url: "https://ann:canary-7@x.test/?key=canary-7", command: "npx" }],
    ["of a kind without address", { type: "stdio", url: "https://ann:canary-7@x.test/?key=canary-7" }],
  ])("%s", (_, definition) => {
    expect(everythingShown({ a: definition })).not.toContain("canary-7");
  });

  it("what is shown of it says where it leads", () => {
    expect(everythingShown({ a: { url: "ftp://ann:canary-7@x.test/mcp?key=1" } })).toContain(
      `"ftp://x.test/mcp"`,
    );
  });

  it.each([
    ["without a protocol", { url: "ann:canary-7@x.test/mcp" }],
    ["with a query that has no name", { url: "x.test/mcp?canary-7" }],
    ["with a fragment", { url: "x.test/mcp#token=canary-7" }],
    ["that stands where the kind should be", { type: "https://ann:canary-7@x.test" }],
    ["in an object that stands where the kind should be", { type: { token: "canary-7" } }],
    ["that stands in the other word for the kind", { type: "http", transport: "https://x.test/?k=canary-7" }],
  ])("%s", (_, definition) => {
    expect(everythingShown({ a: definition })).not.toContain("canary-7");
  });
});

describe("other secrets are never shown", () => {
  it.each([
    ["a session id", { url: "http://x.test", session: { id: "canary-7 canary-7" } }],
    ["an environment", { command: "npx", env: { KEY: ["canary-7"] } }],
    ["an argument", { command: "npx", args: "--key canary-7" }],
    ["a whole definition that is a text", "canary-7"],
  ])("%s", (_, definition) => {
    expect(everythingShown({ a: definition })).not.toContain("canary-7");
  });
});

describe("text that is no JSON", () => {
  it.each([
    `{"token": canary-7}`,
    `{"token": "canary-7`,
    "canary-7",
    `{"a":{"key":"canary-7"},}`,
    `["canary-7"`,
  ])("%s is not quoted", (text) => {
    expect(everythingShown(text)).not.toContain("canary");
  });

  it("is told with the place where it breaks", () => {
    const { issues } = definitionErrorOf(() => parseServers(`{"token": "canary-7`));
    expect(issues).toEqual([{ path: "", message: expect.stringMatching(/^is no JSON, at position 19\b/) }]);
  });

  it("a place is read from the parser's words, not from the text it quotes", () => {
    expect(everythingShown("position 424242")).not.toContain("424242");
  });
});

describe("what is secret of a definition", () => {
  it("is what it says is, beside what is known to be", () => {
    const { secrets } = parseServer("a", {
      command: "serve",
      args: ["plain"],
      env: { GITHUB_PAT: "by-its-name", PATH_TO: "/srv", COMPATIBLE: "yes-it-is" },
      secrets: ["plain"],
    });
    expect(secrets).toEqual(["by-its-name", "plain"]);
  });
});
