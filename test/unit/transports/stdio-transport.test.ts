import { expect, it } from "vitest";
import { systemClock } from "../../../src/async/clock.js";
import type { JsonRpcMessage } from "../../../src/config/message-transport.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { getLocalError } from "../../../src/transports/json-rpc.js";
import { StdioTransportFactory } from "../../../src/transports/stdio/stdio-transport-factory.js";
import { eventually } from "../../fixtures/clients.js";

/** Responds to the first request with broken JSON and exits. */
const SCRIPT = `process.stdin.once("data", () => {
  process.stdout.write('{"jsonrpc":"2.0","id":1,"result":{broken}\\n', () => process.exit(1));
});`;

it("a program that only wrote broken JSON has not shown that it is an MCP server", async () => {
  const factory = new StdioTransportFactory({
    server: "child",
    address: {
      kind: "stdio",
      command: process.execPath,
      args: ["-e", SCRIPT],
      env: {},
      cwd: undefined,
      encoding: undefined,
    },
    maxBytes: 1_000_000,
    redactor: new Redactor([]),
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
  });
  const transport = await factory.openTransport();
  const received: JsonRpcMessage[] = [];
  transport.onmessage = (message) => received.push(message);
  await transport.start();
  await transport.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
  await transport.send({ jsonrpc: "2.0", id: 2, method: "ping" });
  await eventually(() => received.length === 2);
  await transport.close();
  await factory.close();
  const failures = received.map(({ id, error }) => ({ id, reason: getLocalError(error?.["data"])?.reason }));
  expect(failures).toMatchObject([
    { id: 1, reason: { kind: "invalid-response" } },
    { id: 2, reason: { kind: "not-sent" } },
  ]);
});
