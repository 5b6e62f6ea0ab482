import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type AddressInfo, type Socket } from "node:net";
import { pemFile } from "./pem-file.js";

interface ConnectProxyOptions {
  /** Loopback ports by the names that only this proxy knows. */
  readonly hosts: Readonly<Record<string, number>>;
  /** `user:password` that it insists on. */
  readonly credentials?: string;
  /** What it answers instead of doing its work; `"nothing"` leaves the client waiting. */
  readonly answers?: number | "nothing";
  /** It is spoken to over TLS. */
  readonly tls?: boolean;
}

export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Every CONNECT, in order. */
  readonly asked: { readonly authority: string; readonly headers: IncomingHttpHeaders }[];
  /** All that clients sent through it. */
  readonly seen: string;
  readonly openSockets: number;
}

/** A real HTTP proxy that makes tunnels. It cannot read what goes through them. */
export async function startConnectProxy(options: ConnectProxyOptions): Promise<ConnectProxy> {
  const { hosts, credentials, answers, tls = false } = options;
  const sockets = new Set<Socket>();
  const asked: ConnectProxy["asked"] = [];
  const chunks: Buffer[] = [];
  const http = tls
    ? createTlsServer({ cert: pemFile("server"), key: pemFile("server-key") })
    : createServer();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  };
  http.on("connection", keep);
  http.on("connect", (request: IncomingMessage, client: Socket) => {
    const { url: authority = "", headers } = request;
    asked.push({ authority, headers });
    keep(client);
    if (answers === "nothing") {
      // Reads on, to see the client go.
      client.resume().once("end", () => client.destroy());
      return;
    }
    const given = headers["proxy-authorization"];
    const isWelcome =
      credentials === undefined || given === `Basic ${Buffer.from(credentials).toString("base64")}`;
    const port = hosts[authority] ?? hosts[authority.replace(/:\d+$/, "")];
    const status = answers ?? (isWelcome ? (port === undefined ? 502 : 200) : 407);
    client.write(`HTTP/1.1 ${status} Whatever\r\n\r\n`);
    if (status !== 200 || port === undefined) {
      client.end();
      return;
    }
    const server = connect(port, "127.0.0.1");
    keep(server);
    client.on("data", (chunk: Buffer) => chunks.push(chunk));
    client.pipe(server).pipe(client);
    client.once("close", () => server.destroy());
    server.once("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    port,
    asked,
    get seen() {
      return Buffer.concat(chunks).toString("latin1");
    },
    get openSockets() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
