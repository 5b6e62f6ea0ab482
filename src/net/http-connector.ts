import type { lookup as dnsLookup } from "node:dns";
import type { Socket } from "node:net";
import type * as undici from "undici";
import { type SecureContext, createSecureContext } from "node:tls";
import { type AddressCheck, createGuardedLookup, toIpLiteral } from "./address-guard.js";
import { findProxy, ProxyTunnelPool } from "./http-proxy.js";
import { type TlsOptions, pemToString } from "../config/http-options.js";
import { collectUrlSecrets } from "../config/collect-secrets.js";
import type { Redactor } from "../errors/redaction.js";
import { buildConnector, errors } from "./undici-dispatchers.js";

export interface HttpConnectorOptions {
  readonly origin: URL;
  /** Trusted CAs and client certificate. Defaults to the CAs that Node trusts. */
  readonly tls: TlsOptions | undefined;
  /** Time limit of each step: to the proxy, through it, to the server. 0 disables it. */
  readonly connectMs: number;
  readonly redactor: Redactor;
  /** Checks each IP address before a connection to it is opened. Not set for an address of the operator. */
  readonly checkAddress?: AddressCheck | undefined;
  /** Called with the IP address of each connection to the server; not of those through a proxy. */
  readonly onConnected?: ((ip: string | undefined) => void) | undefined;
  /** @default dns.lookup */
  readonly lookup?: typeof dnsLookup | undefined;
}

/** Opens the connections to one origin, directly or through the proxy that the environment defines for it. */
export class HttpConnector {
  readonly #sockets = new Set<Socket>();
  readonly #connectToServer: undici.buildConnector.connector;
  readonly #tunnels: ProxyTunnelPool | undefined;
  readonly #checkAddress: AddressCheck | undefined;
  #isClosed = false;

  constructor({ origin, tls, connectMs, redactor, checkAddress, onConnected, lookup }: HttpConnectorOptions) {
    const proxy = findProxy(origin, process.env);
    const tlsOptions = tls === undefined ? {} : { secureContext: toSecureContext(tls) };
    const dnsOptions =
      checkAddress === undefined ? {} : { lookup: createGuardedLookup(checkAddress, lookup) };
    this.#checkAddress = checkAddress;
    this.#connectToServer = this.#withTracking(
      buildConnector({ timeout: connectMs, ...tlsOptions, ...dnsOptions }),
      proxy === undefined ? onConnected : undefined,
    );
    if (proxy === undefined) return;
    redactor.add(collectUrlSecrets(proxy.url));
    // No TLS options for the proxy: it is a different party and must not receive the client certificate.
    const connect = this.#withTracking(buildConnector({ timeout: connectMs }));
    this.#tunnels = new ProxyTunnelPool(proxy, connect, connectMs);
  }

  readonly connect: undici.buildConnector.connector = (options, callback) => {
    if (this.#checkAddress === undefined) this.#connect(options, callback);
    else void this.#checkAndConnect(this.#checkAddress, options, callback);
  };

  #connect(options: undici.buildConnector.Options, callback: undici.buildConnector.Callback): void {
    if (this.#isClosed) callback(new errors.ClientDestroyedError(), null);
    else if (this.#tunnels === undefined) this.#connectToServer(options, callback);
    else void this.#connectViaProxy(this.#tunnels, options, callback);
  }

  /** Checks what is not checked by the lookup: an IP address, for which there is none, and a name that a proxy resolves. */
  async #checkAndConnect(
    checkAddress: AddressCheck,
    options: undici.buildConnector.Options,
    callback: undici.buildConnector.Callback,
  ): Promise<void> {
    const ip = toIpLiteral(options);
    const isResolvedHere = ip === undefined && this.#tunnels === undefined;
    const denial = isResolvedHere ? undefined : await checkAddress(ip);
    if (denial === undefined) this.#connect(options, callback);
    else callback(denial, null);
  }

  /** Closes all connections, including those that are still being opened. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#tunnels?.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #connectViaProxy(
    tunnels: ProxyTunnelPool,
    options: undici.buildConnector.Options,
    callback: undici.buildConnector.Callback,
  ): Promise<void> {
    try {
      const httpSocket = await tunnels.open(toAuthority(options));
      if (options.protocol === "https:") this.#connectToServer({ ...options, httpSocket }, callback);
      else callback(null, httpSocket);
    } catch (error) {
      callback(error as Error, null);
    }
  }

  /**
   * Tracks sockets, because destroying an undici pool does not close sockets that are not connected yet, nor
   * those of a client that it removed after a refused connection but still gave the next queued request.
   */
  #withTracking(
    connect: undici.buildConnector.connector,
    onConnected?: (ip: string | undefined) => void,
  ): undici.buildConnector.connector {
    return (options, callback) => {
      // undici returns the socket synchronously, which its types do not declare.
      const socket = connect(options, (...result) => {
        // With TLS 1.3 a server may reject our certificate after we started to send. Node emits that error
        // and then the end of the stream, which undici would report as the reason.
        socket.once("error", (error) => socket.destroy(error));
        skipContinueResponses(socket);
        onConnected?.(socket.remoteAddress);
        callback(...result);
      }) as unknown as Socket;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    };
  }
}

function toSecureContext({ ca, cert, key }: TlsOptions): SecureContext {
  return createSecureContext({
    ...(ca === undefined ? {} : { ca: [ca].flat().map(pemToString) }),
    ...(cert === undefined || key === undefined ? {} : { cert: pemToString(cert), key: pemToString(key) }),
  });
}

/**
 * Converts a `ws:` or `wss:` URL to the HTTP URL used for its upgrade, tokens and proxy. Other URLs are
 * unchanged.
 */
export function toHttpUrl(url: URL): URL {
  return new URL(url.href.replace(/^ws/, "http"));
}

function toAuthority({ hostname, port, protocol }: undici.buildConnector.Options): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return `${host}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`;
}

/** The status of an interim response: 1xx, except for 101, after which the connection is no longer HTTP. */
const INTERIM_STATUS = /^HTTP\/1\.1 1(?!01)\d\d[ \r]$/;
const STATUS_PREFIX = "HTTP/1.1 1";
const STATUS_LENGTH = 13;
/** Where the first digit of the status is. */
const FIRST_DIGIT = STATUS_PREFIX.length - 1;
const DIGIT_ONE = 0x31;
const HEAD_END = "\r\n\r\n";
/** A longer response is left to undici, which rejects it. */
const MAX_INTERIM_BYTES = 4_096;

/**
 * Removes interim responses, such as `100 Continue`, from what is read from a socket. Servers may send them although the
 * request has no `Expect` header, and clients have to ignore them (RFC 9110, 15.2), but undici destroys the socket. Needs
 * one request at a time on the socket: only what comes first after a request can be one, not what comes in a body.
 */
function skipContinueResponses(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isAwaitingResponse = false;
  /** The beginning of what may be such a response. */
  let held: Buffer | undefined;

  socket.write = (...args: unknown[]): boolean => {
    isAwaitingResponse = true;
    return write(...args);
  };
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size);
      if (!isAwaitingResponse || chunk === null) return chunk;
      const received: Buffer = held === undefined ? chunk : Buffer.concat([held, chunk]);
      if (received.length > FIRST_DIGIT && received[FIRST_DIGIT] !== DIGIT_ONE) {
        held = undefined;
        isAwaitingResponse = false;
        return received;
      }
      const remaining = withoutInterim(received);
      held = isIncomplete(remaining) ? remaining : undefined;
      if (held !== undefined) continue;
      isAwaitingResponse = false;
      return remaining;
    }
  };
}

/** Returns the bytes after all complete interim responses. */
function withoutInterim(received: Buffer): Buffer {
  let bytes = received;
  while (INTERIM_STATUS.test(bytes.toString("latin1", 0, STATUS_LENGTH))) {
    const end = bytes.subarray(0, MAX_INTERIM_BYTES).indexOf(HEAD_END);
    if (end === -1) break;
    bytes = bytes.subarray(end + HEAD_END.length);
  }
  return bytes;
}

/** Whether these may be the first bytes of an interim response, or there are none. */
function isIncomplete(bytes: Buffer): boolean {
  const status = bytes.toString("latin1", 0, STATUS_LENGTH);
  if (status.length < STATUS_LENGTH) return STATUS_PREFIX.startsWith(status.slice(0, STATUS_PREFIX.length));
  return bytes.length < MAX_INTERIM_BYTES && INTERIM_STATUS.test(status);
}
