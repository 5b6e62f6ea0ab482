import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { Redactor } from "../../../src/errors/redaction.js";
import { AwsHttpHandler } from "../../../src/transports/lambda/lambda-function.js";

it("the body of a response does not change when other responses are read", async () => {
  const toBody = (path: string | undefined) => (path ?? "").repeat(100_000);
  const server = createServer((request, response) => response.end(toBody(request.url)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const limits = { sockets: 4, connectMs: 10_000, maxBytes: 10_000_000 };
  const redactor = new Redactor();
  const handler = new AwsHttpHandler({ server: "function", redactor, ...limits, checkFor: () => undefined });
  const paths = ["/a", "/b", "/c", "/d"];
  try {
    const address = {
      method: "GET" as const,
      protocol: "http:",
      hostname: "127.0.0.1",
      port,
      headers: {},
    };
    const responses = await Promise.all(paths.map((path) => handler.handle({ ...address, path })));
    const bodies = responses.map(({ response }) => String(response.body));
    expect(bodies).toEqual(paths.map(toBody));
  } finally {
    await handler.close();
    server.close();
  }
});

it("a request after close() is rejected", async () => {
  const options = { sockets: 4, connectMs: 10_000, maxBytes: 1_000, redactor: new Redactor() };
  const handler = new AwsHttpHandler({ server: "function", ...options, checkFor: () => undefined });
  await handler.close();
  const address = { method: "GET" as const, protocol: "http:", hostname: "127.0.0.1", port: 9 };
  await expect(handler.handle({ ...address, path: "/", headers: {} })).rejects.toThrow("is closed");
});
