import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { coalesceSmallWrites } from "../../../src/net/http-connector.js";

/** Writes a header and a body together; returns what arrives and the number of writes. */
async function send(head: string, body: Buffer) {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const arriving = new Promise<Buffer>((resolve) => {
    server.once("connection", async (peer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of peer) chunks.push(chunk as Buffer);
      resolve(Buffer.concat(chunks));
    });
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const writes: unknown[] = [];
  const write = socket._write.bind(socket);
  socket._write = (chunk, encoding, callback) => {
    writes.push(chunk);
    write(chunk, encoding, callback);
  };
  coalesceSmallWrites(socket);
  socket.cork();
  socket.write(head, "latin1");
  socket.write(body);
  socket.uncork();
  socket.end();
  const arrived = await arriving;
  socket.destroy();
  server.close();
  return { arrived, writes: writes.length };
}

it("a small request is sent in one write with its bytes unchanged", async () => {
  const body = Buffer.from('{"city":"Tromsø 🏔","raw":"ÿ"}');
  const { arrived, writes } = await send("POST / HTTP/1.1\r\nx-name: \u00fc\r\n\r\n", body);
  expect(arrived).toEqual(
    Buffer.concat([Buffer.from("POST / HTTP/1.1\r\nx-name: \u00fc\r\n\r\n", "latin1"), body]),
  );
  expect(writes).toBe(1);
});

it("a large request is not coalesced", async () => {
  const body = Buffer.alloc(1_000_000, "ø");
  const { arrived, writes } = await send("POST / HTTP/1.1\r\n\r\n", body);
  expect(arrived.subarray(-body.length).equals(body)).toBe(true);
  expect(writes).toBe(0);
});
