import { expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { systemClock } from "../../../src/async/clock.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { createStdioFactory } from "../../../src/transports/stdio/stdio-transport.js";
import type { StdioAddress } from "../../../src/transports/stdio/server-process.js";
import { parseServer } from "../../../src/config/parse-server.js";
import { rejection } from "../../fixtures/clients.js";

/** Responds to the first request with broken JSON and exits. */
const SCRIPT = `process.stdin.once("data", () => {
  process.stdout.write('{"jsonrpc":"2.0","id":1,"result":{broken}\\n', () => process.exit(1));
});`;

it("a program that only wrote broken JSON has not shown that it is an MCP server", async () => {
  const config = parseServer("child", { command: process.execPath, args: ["-e", SCRIPT] });
  const factory = createStdioFactory(config, config.address as StdioAddress, {
    redactor: new Redactor([]),
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    keys: {},
  });
  const transport = await factory.openTransport(undefined, undefined, new CancelScope());
  await transport.start();
  const send = (id: number, method: string) =>
    transport.request({ jsonrpc: "2.0", id, method, params: {} }, { cancellation: new CancelScope() });
  const failures = await Promise.all([rejection(send(1, "initialize")), rejection(send(2, "ping"))]);
  await transport.close(new McpRuntimeError("closed", "done"));
  await factory.close();
  expect(failures).toMatchObject([{ kind: "invalid-response" }, { kind: "not-sent" }]);
});
