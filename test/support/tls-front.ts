import { connect, type AddressInfo, type Socket } from "node:net";
import { createServer, type TlsOptions } from "node:tls";
import { pemFile } from "./pem-file.js";

export interface TlsFront extends AsyncDisposable {
  /** The server's address by way of this front. */
  readonly url: string;
  readonly port: number;
  /** The common name in the client's certificate, for each connection that came about. */
  readonly clients: (string | undefined)[];
}

/** TLS before a server that speaks plain HTTP. */
export async function startTlsFront(target: string, options: TlsOptions = {}): Promise<TlsFront> {
  const { port: serverPort, pathname } = new URL(target);
  const sockets = new Set<Socket>();
  const clients: (string | undefined)[] = [];
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  };
  const front = createServer(
    { cert: pemFile("server"), key: pemFile("server-key"), ...options },
    (client) => {
      clients.push(client.getPeerCertificate()?.subject?.CN?.toString());
      const server = connect(Number(serverPort), "127.0.0.1");
      keep(client);
      keep(server);
      client.pipe(server).pipe(client);
      client.once("close", () => server.destroy());
      server.once("close", () => client.destroy());
    },
  );
  front.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const { port } = front.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}${pathname}`,
    port,
    clients,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}
