import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { joinSmallWrites } from "../../../src/net/coalesce-writes.js";

/** What arrives of a head and a body that are written together, and in how many writes they went out. */
async function sent(head: string, body: Buffer) {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const arriving = new Promise<Buffer>((resolve) => {
    server.once("connection", async (peer) => {
      const parts: Buffer[] = [];
      for await (const part of peer) parts.push(part as Buffer);
      resolve(Buffer.concat(parts));
    });
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const writes: unknown[] = [];
  const write = socket._write.bind(socket);
  socket._write = (chunk, encoding, done) => {
    writes.push(chunk);
    write(chunk, encoding, done);
  };
  joinSmallWrites(socket);
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

it("a small request goes out in one write, with every byte as it was", async () => {
  const body = Buffer.from('{"city":"Tromsø 🏔","raw":"ÿ"}');
  const { arrived, writes } = await sent("POST / HTTP/1.1\r\nx-name: \u00fc\r\n\r\n", body);
  expect(arrived).toEqual(
    Buffer.concat([Buffer.from("POST / HTTP/1.1\r\nx-name: \u00fc\r\n\r\n", "latin1"), body]),
  );
  expect(writes).toBe(1);
});

it("a large one goes out as it did", async () => {
  const body = Buffer.alloc(1_000_000, "ø");
  const { arrived, writes } = await sent("POST / HTTP/1.1\r\n\r\n", body);
  expect(arrived.subarray(-body.length).equals(body)).toBe(true);
  expect(writes).toBe(0);
});
