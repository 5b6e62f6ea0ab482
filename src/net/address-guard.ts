import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { AddressRequest } from "../config/address-policy.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/**
 * Checks one IP address of an origin; `undefined` where its name is resolved elsewhere. Returns the error for an
 * address that is not allowed.
 */
export type AddressCheck = (ip: string | undefined) => Promise<McpRuntimeError | undefined>;

type GuardedServer = Pick<ServerConfig, "name" | "allowAddress" | "addressOrigin">;

/**
 * Decides where requests may go that the operator did not configure: addresses in agent and project files, those that a
 * function looked up, and those that a server names for OAuth. Every connection of `net/` is opened with its
 * check, after DNS. There is one guard per server.
 */
export class AddressGuard {
  readonly #server: GuardedServer;
  readonly #url: URL;
  readonly #lookup: typeof dnsLookup;
  /** Origins that the operator configured. */
  readonly #trusted = new Set<string>();
  readonly #isPublic = new Map<string, Promise<boolean>>();

  /** `url` is the address of the server. */
  constructor(server: GuardedServer, url: URL, lookup: typeof dnsLookup = dnsLookup) {
    this.#server = server;
    this.#url = url;
    this.#lookup = lookup;
    if (server.addressOrigin.source === "operator") this.#trusted.add(url.origin);
  }

  /** Trusts an address that is configured next to that of the server, unless all of it is in a file of others. */
  trust(url: URL): void {
    if (this.#server.addressOrigin.source !== "file") this.#trusted.add(url.origin);
  }

  /**
   * Called with the IP address of each connection to the server. Who controls the DNS of its name may return another address
   * when the name is looked up to decide whether the server is public.
   */
  onConnected(ip: string | undefined): void {
    if (ip !== undefined && classifyIp(ip) === "public")
      this.#isPublic.set(this.#url.hostname, Promise.resolve(true));
  }

  /** Returns the check of an origin, or `undefined` if it comes from the operator. */
  checkFor(url: URL, purpose: AddressRequest["purpose"]): AddressCheck | undefined {
    if (this.#trusted.has(url.origin)) return undefined;
    return (ip) => this.#check(new URL(url.origin), ip, purpose);
  }

  async #check(
    url: URL,
    ip: string | undefined,
    purpose: AddressRequest["purpose"],
  ): Promise<McpRuntimeError | undefined> {
    const { name: server, allowAddress } = this.#server;
    const { isAllowed: allowedByDefault, reason } = await this.#decideByDefault(url, ip, purpose);
    const deny = (problem: string, cause?: unknown) => {
      const shown = ip === undefined || ip === toIpLiteral(url) ? "" : ` (${ip})`;
      const text = `Server "${server}": the address ${url.origin}${shown} ${SUBJECTS[purpose]} and is not allowed: ${problem}. Nothing was sent there.`;
      return new McpRuntimeError("denied", text, { server, cause });
    };
    if (allowAddress.length === 0)
      return allowedByDefault ? undefined : deny(`${reason}. The option allowAddress can allow it`);
    try {
      for (const decide of allowAddress) {
        const decision: unknown = await decide({ url: new URL(url), ip, purpose, allowedByDefault });
        if (decision !== true) return deny("allowAddress did not return true for it");
      }
      return undefined;
    } catch (error) {
      return deny("allowAddress failed", error);
    }
  }

  /**
   * Link-local addresses are not allowed; local and private ones only if the operator's own address is not public. The option
   * `allowAddress` can decide otherwise.
   */
  async #decideByDefault(url: URL, ip: string | undefined, purpose: AddressRequest["purpose"]) {
    if (METADATA_NAMES.has(url.hostname.toLowerCase().replace(/\.$/, "")))
      return { isAllowed: false, reason: "it is the metadata service of a cloud" };
    const range = ip === undefined ? "public" : classifyIp(ip);
    if (range === "link-local")
      return { isAllowed: false, reason: "it is a link-local address or a metadata service" };
    const reference = purpose === "server" ? this.#server.addressOrigin.operatorUrl : this.#url;
    const isAllowed = range === "public" || reference === undefined || !(await this.#isPublicHost(reference));
    return { isAllowed, reason: `it is ${RANGE_NAMES[range]}, but ${reference?.origin} is public` };
  }

  /** An unknown host counts as public. */
  #isPublicHost(url: URL): Promise<boolean> {
    const known = this.#isPublic.get(url.hostname);
    if (known !== undefined) return known;
    const ip = toIpLiteral(url);
    const isPublic =
      ip === undefined
        ? lookupAll(url.hostname, this.#lookup).then(
            (addresses) => addresses.some(({ address }) => classifyIp(address) === "public"),
            () => true,
          )
        : Promise.resolve(classifyIp(ip) === "public");
    this.#isPublic.set(url.hostname, isPublic);
    return isPublic;
  }
}

const SUBJECTS: Readonly<Record<AddressRequest["purpose"], string>> = {
  server: "is not configured by the operator",
  oauth: "is named by the server or its metadata",
};

/** Host names of metadata services, for where names are resolved elsewhere. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  "metadata.google.internal",
  "metadata.goog",
  "instance-data",
  "instance-data.ec2.internal",
]);

type IpRange = "public" | "private" | "loopback" | "link-local";

const RANGE_NAMES: Readonly<Record<IpRange, string>> = {
  public: "a public address",
  private: "in a private network",
  loopback: "on this machine",
  "link-local": "a link-local address",
};

/**
 * Link-local networks, the addresses of metadata services outside of them, and the prefix for local translation (NAT64), where
 * an IPv4 address may stand in several places.
 */
const LINK_LOCAL = toBlockList(
  "169.254.0.0/16 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32 fe80::/10 fd00:ec2::/32 fd20:ce::254/128 64:ff9b:1::/48",
);
const LOOPBACK = toBlockList("127.0.0.0/8 0.0.0.0/8 ::1/128 ::/128");
/** Networks that are not reached over the internet, including shared, reserved and multicast addresses. */
const PRIVATE = toBlockList(
  "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 192.0.0.0/24 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4 fc00::/7 fec0::/10 ff00::/8",
);

function toBlockList(networks: string): BlockList {
  const list = new BlockList();
  for (const network of networks.split(" ")) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}

/** What cannot be understood counts as link-local, which is denied. */
export function classifyIp(text: string): IpRange {
  const ip = toEmbeddedIpv4(text) ?? text.replace(/%.*$/, "");
  const version = isIP(ip);
  if (version === 0) return "link-local";
  const family = version === 4 ? "ipv4" : "ipv6";
  if (LINK_LOCAL.check(ip, family)) return "link-local";
  if (LOOPBACK.check(ip, family)) return "loopback";
  return PRIVATE.check(ip, family) ? "private" : "public";
}

/** Returns the IPv4 address in an IPv6 address that is mapped, compatible, translated (NAT64) or tunneled (6to4, ISATAP). */
function toEmbeddedIpv4(text: string): string | undefined {
  const groups = toGroups(text);
  if (groups === undefined) return undefined;
  const prefix = groups.slice(0, 6).join(":");
  const isTranslated = prefix === "100:65435:0:0:0:0" || prefix === "100:65435:1:0:0:0";
  const isTunneled = (groups[4] === 0 || groups[4] === 0x200) && groups[5] === 0x5efe;
  const isMapped = prefix === "0:0:0:0:0:65535" || prefix === "0:0:0:0:65535:0";
  const isCompatible = prefix === "0:0:0:0:0:0" && (groups[6] ?? 0) > 0;
  if (isMapped || isCompatible || isTranslated || isTunneled) return toIpv4(groups[6], groups[7]);
  return groups[0] === 0x2002 ? toIpv4(groups[1], groups[2]) : undefined;
}

function toIpv4(high = 0, low = 0): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Returns the eight groups of an IPv6 address, `undefined` for anything else. */
function toGroups(text: string): number[] | undefined {
  const address = text.replace(/%.*$/, "");
  if (isIP(address) !== 6) return undefined;
  // A URL writes each address in one way, with hexadecimal groups only.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const [start, end] = [parseGroups(head), parseGroups(tail ?? "")];
  return [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end];
}

function parseGroups(text: string): number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

/** Returns the IP address that is the host of a URL, which writes it in one way; `undefined` for a name. */
export function toIpLiteral({ hostname }: Pick<URL, "hostname">): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) === 0 ? undefined : host;
}

function lookupAll(hostname: string, lookup: typeof dnsLookup): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}

/** Resolves names like `dns.lookup`, without the addresses that are not allowed. */
export function createGuardedLookup(
  checkAddress: AddressCheck,
  lookup: typeof dnsLookup = dnsLookup,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error === null) void passAllowed(addresses, checkAddress, options, callback);
      else callback(error, []);
    });
  };
}

async function passAllowed(
  addresses: readonly LookupAddress[],
  checkAddress: AddressCheck,
  { all: returnsAll }: LookupOptions,
  callback: Parameters<LookupFunction>[2],
): Promise<void> {
  const checked = await Promise.all(
    addresses.map(async (address) => ({ address, denial: await checkAddress(address.address) })),
  );
  const allowed = checked.filter(({ denial }) => denial === undefined).map(({ address }) => address);
  const [first] = allowed;
  if (first === undefined) callback(checked[0]?.denial ?? new Error("The host has no address."), []);
  else if (returnsAll === true) callback(null, allowed);
  else callback(null, first.address, first.family);
}
