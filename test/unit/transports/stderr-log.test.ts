import { describe, expect, it } from "vitest";
import { Redactor } from "../../../src/errors/redaction.js";
import { StderrLog } from "../../../src/transports/stdio/stderr-log.js";
import { times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

function openLog() {
  const lines: string[] = [];
  const clock = new FakeClock();
  const log = new StderrLog({
    server: "child",
    redactor: new Redactor(["canary-1"]),
    clock,
    log: { info: (line) => lines.push(line.replace('Server "child" on stderr: ', "")) },
    decode: (bytes) => bytes.toString(),
  });
  return { log, lines, clock, write: (text: string) => log.data(Buffer.from(text)) };
}

describe("StderrLog", () => {
  it("logs line by line, without colors, secrets and empty lines", () => {
    const { log, lines, write } = openLog();
    write("one\r\n\n\u001b[31mtw");
    write("o\u001b[0m\nkey canary-1\nlast");
    expect(lines).toEqual(["one", "two", "key [redacted]"]);
    log.end();
    expect(lines.at(-1)).toBe("last");
    expect(log.summary).toEqual(["two", "key [redacted]", "last"]);
  });

  it("truncates long lines after redacting secrets", () => {
    const { lines, log, write } = openLog();
    write(`${"x".repeat(995)}canary-1${"y".repeat(100_000)}\nnext\n`);
    expect(lines[0]).toMatch(/^x{995}\[reda…$/);
    expect([lines[1], log.summary.length]).toEqual(["next", 2]);
  });

  it("limits the lines per second and logs how many were omitted", () => {
    const { lines, log, clock, write } = openLog();
    write(times(5_000, (n) => `line ${n}\n`).join(""));
    expect(lines).toHaveLength(100);
    clock.advance(1_000);
    write("later\n");
    expect(lines.slice(100)).toEqual(["(4900 more lines omitted)", "later"]);
    expect(log.summary).toEqual(["line 4998", "line 4999", "later"]);
  });

  it.each([
    [
      "a Node stack",
      `/app/index.js:12
  throw new Error("API key");
        ^

Error: The API key is not set
    at start (/app/index.js:12:9)
    at Module._compile (node:internal/modules/cjs/loader:1554:14)
    at node:internal/main/run_main_module:36:49

Node.js v20.20.2`,
      ["Error: The API key is not set"],
    ],
    [
      "a Python traceback",
      `Starting server
Traceback (most recent call last):
  File "/app/server.py", line 3, in <module>
    import weather
ModuleNotFoundError: No module named 'weather'`,
      ["ModuleNotFoundError: No module named 'weather'", "Starting server"],
    ],
    [
      "a usage text",
      `error: required option '--token <token>' not specified
Usage: server [options]

Options:
  --token <token>  the token
  --port <port>    the port
  --host <host>    the host
  -h, --help       display help`,
      ["error: required option '--token <token>' not specified", "Usage: server [options]", "Options:"],
    ],
    ["only details", "  a\n  b\n  c\n  d", ["  b", "  c", "  d"]],
  ])("sums up %s", (_, text, summary) => {
    const { log, write } = openLog();
    write(`${text}\n`);
    expect(log.summary).toEqual(summary);
  });
});
