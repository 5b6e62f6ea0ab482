import { BlockList, isIP } from "node:net";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

export interface HttpProxy {
  readonly url: URL;
  /** The environment variable that named it. */
  readonly variable: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for a server: `HTTPS_PROXY` for https, else `HTTP_PROXY`, in
 * lower case first, unless `NO_PROXY` exempts the server. One on this machine is never asked of a proxy.
 */
export function findProxy(server: URL, env: Environment): HttpProxy | undefined {
  const found = variableOf(
    env,
    server.protocol === "https:" ? ["HTTPS_PROXY", "HTTP_PROXY"] : ["HTTP_PROXY"],
  );
  if (found === undefined || isLoopback(hostOf(server))) return undefined;
  const noProxy = variableOf(env, ["NO_PROXY"])?.value ?? "";
  return isExempt(server, noProxy) ? undefined : { url: toProxyUrl(found), variable: found.variable };
}

interface Variable {
  readonly variable: string;
  readonly value: string;
}

/** The first that is set; one that is set to nothing is a decision, too. */
function variableOf(env: Environment, names: readonly string[]): Variable | undefined {
  for (const variable of names.flatMap((name) => [name.toLowerCase(), name])) {
    const value = env[variable]?.trim();
    if (value !== undefined) return value === "" ? undefined : { variable, value };
  }
  return undefined;
}

/** The value is not shown: it may hold a password. */
function toProxyUrl({ variable, value }: Variable): URL {
  const text = value.includes("://") ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  const found = url === undefined ? "no address" : `an address that starts with ${url.protocol}//`;
  throw new McpRuntimeError(
    "invalid-config",
    `The environment variable ${variable} is ${found}. Expected http:// or https://; for other proxies give a dispatcher of your own, and NO_PROXY exempts a server.`,
  );
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127\.[\d.]+$/.test(host);
}

function isExempt(server: URL, noProxy: string): boolean {
  const host = hostOf(server);
  const port = server.port === "" ? (server.protocol === "https:" ? "443" : "80") : server.port;
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry === "*" || isInRange(host, entry) || isHost(host, port, entry));
}

/** `host`, `.host` and `*.host` with or without a port: the host, and all below it. */
function isHost(host: string, port: string, entry: string): boolean {
  const [, name = entry, onPort = port] = /^(.*?):(\d+)$/.exec(entry) ?? [];
  const suffix = name.replace(/^\[(.*)\]$/, "$1").replace(/^\*?\./, "");
  return suffix !== "" && onPort === port && (host === suffix || host.endsWith(`.${suffix}`));
}

/** `10.0.0.0/8` */
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
