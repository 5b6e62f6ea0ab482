import { BlockList, isIP, type Socket } from "node:net";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import type { buildConnector, Pool } from "undici";
import { toBasicAuth } from "../config/collect-secrets.js";

interface HttpProxy {
  readonly url: URL;
  /** The environment variable that it was read from. */
  readonly variable: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds the proxy for a server in the environment: `HTTPS_PROXY` for https, then `HTTP_PROXY`; lower-case
 * names take precedence. Returns undefined for loopback hosts and for those that `NO_PROXY` exempts.
 */
export function findProxy(server: URL, env: Environment): HttpProxy | undefined {
  const setting = readEnv(env, server.protocol === "https:" ? ["HTTPS_PROXY", "HTTP_PROXY"] : ["HTTP_PROXY"]);
  if (setting === undefined || isLoopback(normalizeHost(server))) return undefined;
  const noProxy = readEnv(env, ["NO_PROXY"])?.value ?? "";
  return isExempt(server, noProxy) ? undefined : { url: toProxyUrl(setting), variable: setting.variable };
}

interface EnvVariable {
  readonly variable: string;
  readonly value: string;
}

/** Returns the first variable that is set. An empty value disables those that follow. */
function readEnv(env: Environment, names: readonly string[]): EnvVariable | undefined {
  for (const variable of names.flatMap((name) => [name.toLowerCase(), name])) {
    const value = env[variable]?.trim();
    if (value !== undefined) return value === "" ? undefined : { variable, value };
  }
  return undefined;
}

/** The value is never part of the error message: it may contain a password. */
function toProxyUrl({ variable, value }: EnvVariable): URL {
  const text = value.includes("://") ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  const actual = url === undefined ? "not a valid URL" : `a URL that starts with ${url.protocol}//`;
  throw new McpRuntimeError(
    "invalid-config",
    `The environment variable ${variable} is ${actual}. Expected http:// or https://. For other kinds of proxies set a dispatcher; NO_PROXY exempts a server.`,
  );
}

function normalizeHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127\.[\d.]+$/.test(host);
}

function isExempt(server: URL, noProxy: string): boolean {
  const host = normalizeHost(server);
  const port = server.port === "" ? (server.protocol === "https:" ? "443" : "80") : server.port;
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry === "*" || isInRange(host, entry) || isHost(host, port, entry));
}

/** Matches `host`, `.host` and `*.host`, with or without a port: the host and its subdomains. */
function isHost(host: string, port: string, entry: string): boolean {
  const [, name = entry, entryPort = port] = /^(.*?):(\d+)$/.exec(entry) ?? [];
  const suffix = name.replace(/^\[(.*)\]$/, "$1").replace(/^\*?\./, "");
  return suffix !== "" && entryPort === port && (host === suffix || host.endsWith(`.${suffix}`));
}

/** Matches CIDR ranges such as `10.0.0.0/8`. */
function isInRange(host: string, entry: string): boolean {
  const [address = "", bits = ""] = entry.split("/");
  const family = isIP(address);
  if (family === 0 || family !== isIP(host) || !/^\d{1,3}$/.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const range = new BlockList();
  range.addSubnet(address, Number(bits), type);
  return range.check(host, type);
}

/** The proxy could not be used. The message completes a sentence that starts with the server's name. */
export class ProxyError extends Error {
  constructor({ url, variable }: HttpProxy, reason: string, cause?: unknown) {
    const subject = `cannot be reached through the proxy ${url.origin} (${variable})`;
    super(`${subject}: ${reason}`, cause === undefined ? undefined : { cause });
  }
}

/** Opens tunnels to servers through an HTTP proxy with `CONNECT`. */
export class ProxyTunnelPool {
  readonly #proxy: HttpProxy;
  readonly #connect: buildConnector.connector;
  readonly #connectTimeoutMs: number;
  readonly #credentials: Readonly<Record<string, string>>;
  #pool: Promise<Pool> | undefined;

  /**
   * `connect` connects to the proxy itself; `connectTimeoutMs` is how long the proxy may take to respond to
   * `CONNECT`, 0 disables the limit.
   */
  constructor(proxy: HttpProxy, connect: buildConnector.connector, connectTimeoutMs: number) {
    const credentials = toBasicAuth(proxy.url);
    this.#proxy = proxy;
    this.#connect = connect;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#credentials = credentials === undefined ? {} : { "proxy-authorization": `Basic ${credentials}` };
  }

  /** Opens a tunnel to `authority`, the host and port of the server. */
  async open(authority: string): Promise<Socket> {
    const headers = { host: authority, ...this.#credentials };
    this.#pool ??= this.#createPool();
    const pool = await this.#pool;
    const { statusCode, socket } = await pool
      .connect({ path: authority, headers })
      .catch((cause: unknown) => {
        throw new ProxyError(this.#proxy, describeConnectFailure(cause), cause);
      });
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on("error", () => undefined).destroy();
    throw new ProxyError(this.#proxy, describeRejection(statusCode, this.#proxy));
  }

  async close(): Promise<void> {
    await (await this.#pool)?.destroy();
  }

  /** Only the index of undici has `Pool.connect`. */
  async #createPool(): Promise<Pool> {
    const undici = await import("undici");
    return new undici.Pool(this.#proxy.url.origin, {
      // undici sets the TLS server name from the `host` header, which here is the target server, not the
      // proxy.
      connect: (options, callback) => {
        const { servername: _, ...proxyOptions } = options;
        this.#connect(proxyOptions, callback);
      },
      headersTimeout: this.#connectTimeoutMs,
      bodyTimeout: 0,
    });
  }
}

function describeConnectFailure(cause: unknown): string {
  const code = printValue(cause instanceof Error ? (Reflect.get(cause, "code") ?? cause.name) : cause);
  return `the proxy did not respond (${code}). Check its address, or exempt the server with NO_PROXY.`;
}

function describeRejection(status: number, { variable }: HttpProxy): string {
  if (status === 407)
    return `the proxy requires valid credentials (HTTP 407). Set them in ${variable} as http://user:password@host.`;
  return `the proxy returned HTTP ${status}. Check that it allows this server, or exempt the server with NO_PROXY.`;
}
