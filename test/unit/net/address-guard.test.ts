import type { LookupAddress } from "node:dns";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { type AddressRequest, type AllowAddress } from "../../../src/index.js";
import type { AddressOrigin } from "../../../src/config/address-policy.js";
import { AddressGuard, classifyIp } from "../../../src/net/address-guard.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { HttpConnector } from "../../../src/net/http-connector.js";
import { Listener } from "../../fixtures/listener.js";

describe("classifyIp", () => {
  it.each([
    ["link-local", ["169.254.0.1", "169.254.169.254", "fe80::1", "febf::1", "fe80::1%eth0"]],
    ["link-local", ["::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::a9fe:a9fe", "64:ff9b::a9fe:a9fe"]],
    [
      "link-local",
      ["2002:a9fe:a9fe::", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "not an address"],
    ],
    ["loopback", ["127.0.0.1", "127.255.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1"]],
    [
      "private",
      ["10.1.2.3", "172.31.0.1", "192.168.1.1", "100.64.0.1", "fc00::1", "fdff::1", "::ffff:10.0.0.1"],
    ],
    ["link-local", ["64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1::a9fe:a9fe", "2001:db8::5efe:a9fe:a9fe"]],
    ["public", ["64:ff9b:1::808:808", "2001:4860::200:5efe:808:808"]],
    ["private", ["224.0.0.1", "255.255.255.255", "ff02::1", "fec0::1", "198.18.0.1", "64:ff9b::a00:1"]],
    [
      "public",
      ["93.184.216.34", "172.32.0.1", "169.253.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808::"],
    ],
  ])("%s: %j", (expected, addresses) => {
    expect(addresses.map(classifyIp)).toEqual(addresses.map(() => expected));
  });
});

/** A resolver of these names; all others are unknown. */
function createLookup(hosts: Readonly<Record<string, readonly string[]>>): never {
  const lookup = (
    host: string,
    _: object,
    callback: (error: Error | null, addresses: LookupAddress[]) => void,
  ) => {
    const addresses = hosts[host]?.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    if (addresses === undefined) callback(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), []);
    else callback(null, addresses);
  };
  return lookup as never;
}

interface GuardOptions {
  readonly origin?: AddressOrigin;
  readonly url?: string;
  readonly hosts?: Readonly<Record<string, readonly string[]>>;
  readonly allowAddress?: readonly AllowAddress[];
}

function createGuard({ origin, url = "http://127.0.0.1/mcp", hosts = {}, allowAddress = [] }: GuardOptions) {
  const server = { name: "x", allowAddress, addressOrigin: origin ?? { source: "operator" } };
  return new AddressGuard(server, new URL(url), createLookup(hosts));
}

/** Whether the guard allows an IP address of `other.test`. */
async function allows(options: GuardOptions, ip: string, purpose: AddressRequest["purpose"] = "oauth") {
  const check = createGuard(options).checkFor(new URL("http://other.test"), purpose);
  return (await check?.(ip)) === undefined;
}

describe("by default", () => {
  it("an address of the operator is not checked", () => {
    const guard = createGuard({});
    expect(guard.checkFor(new URL("http://127.0.0.1/other"), "oauth")).toBeUndefined();
    expect(guard.checkFor(new URL("http://127.0.0.1:81/other"), "oauth")).toBeDefined();
  });

  it.each([
    ["an IP address", { url: "http://203.0.113.7/mcp" }],
    ["a name", { url: "http://mcp.test/mcp", hosts: { "mcp.test": ["203.0.113.7"] } }],
    [
      "a name with a private address, too",
      { url: "http://a.test", hosts: { "a.test": ["10.0.0.1", "8.8.8.8"] } },
    ],
    ["a name that cannot be resolved", { url: "http://mcp.test/mcp" }],
  ])("a public server may not name local and private addresses: %s", async (_, options) => {
    const ips = ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "169.254.169.254"];
    expect(await Promise.all(ips.map((ip) => allows(options, ip)))).toEqual(ips.map(() => false));
    expect(await allows(options, "198.51.100.1")).toBe(true);
  });

  it("a server that was reached at a public address stays public, whatever its name resolves to later", async () => {
    const guard = createGuard({ url: "http://vendor.test/mcp", hosts: { "vendor.test": ["127.0.0.1"] } });
    guard.onConnected("203.0.113.7");
    guard.onConnected("127.0.0.1");
    const check = guard.checkFor(new URL("http://other.test"), "oauth");
    expect(await check?.("127.0.0.1")).toMatchObject({ kind: "denied" });
  });

  it("a local or private server may name local and private addresses, but no link-local ones", async () => {
    for (const options of [{}, { url: "http://x.test", hosts: { "x.test": ["192.168.0.1"] } }]) {
      const ips = ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "169.254.169.254", "fe80::1"];
      const decisions = await Promise.all(ips.map((ip) => allows(options, ip)));
      expect(decisions).toEqual([true, true, true, true, false, false]);
    }
  });

  it("a platform at a public address may not name servers in the network of the operator", async () => {
    const origin = { source: "lookup", operatorUrl: new URL("https://203.0.113.7/") } as const;
    expect(await allows({ origin }, "10.0.0.1", "server")).toBe(false);
    expect(await allows({ origin: { source: "lookup" } }, "10.0.0.1", "server")).toBe(true);
  });

  it("the names of metadata services are denied where this process does not resolve them", async () => {
    const guard = createGuard({});
    for (const host of ["metadata.google.internal", "METADATA.google.internal.", "instance-data"]) {
      const denial = await guard.checkFor(new URL(`http://${host}`), "oauth")?.(undefined);
      expect(denial).toMatchObject({ kind: "denied", message: expect.stringContaining("metadata service") });
    }
    expect(await guard.checkFor(new URL("http://login.test"), "oauth")?.(undefined)).toBeUndefined();
  });

  it("an address next to that of the server is trusted, unless both are in a file of others", () => {
    for (const source of ["operator", "lookup", "file"] as const) {
      const guard = createGuard({ origin: { source } });
      guard.trust(new URL("https://login.test"));
      const isChecked = guard.checkFor(new URL("https://login.test/token"), "oauth") !== undefined;
      expect([source, isChecked]).toEqual([source, source === "file"]);
    }
  });
});

describe("allowAddress", () => {
  it("decides instead of the default, and is given it", async () => {
    const requests: AddressRequest[] = [];
    const allowAddress: AllowAddress = (request) => requests.push(request) > 0;
    expect(await allows({ allowAddress: [allowAddress] }, "169.254.169.254")).toBe(true);
    expect(requests).toEqual([
      { url: new URL("http://other.test"), ip: "169.254.169.254", purpose: "oauth", allowedByDefault: false },
    ]);
  });

  it.each<[label: string, allowAddress: AllowAddress[]]>([
    ["false", [() => false]],
    ["a promise of false", [async () => false]],
    ["nothing", [() => undefined as never]],
    ["a truthy value", [() => 1 as never]],
    ["an exception", [() => JSON.parse("{") as never]],
    ["a rejection", [async () => JSON.parse("{") as never]],
    ["one of two that denies", [() => true, () => false]],
    ["the other one of two that denies", [() => false, () => true]],
  ])("%s denies an address that is allowed by default", async (_, allowAddress) => {
    expect(await allows({ allowAddress }, "8.8.8.8")).toBe(false);
  });
});

describe("a name with several addresses", () => {
  /** Connects to `evil.test` at the port of a real server, and returns the address of the socket. */
  async function connectTo(addresses: readonly string[], allowAddress: AllowAddress) {
    const http = createServer();
    const connected: unknown[] = [];
    await using listener = await Listener.start(http);
    const lookup = createLookup({ "evil.test": addresses });
    const url = new URL(`http://evil.test:${listener.port}`);
    const guard = createGuard({ origin: { source: "file" }, allowAddress: [allowAddress] });
    const checkAddress = guard.checkFor(url, "server");
    const connector = new HttpConnector({
      origin: url,
      tls: undefined,
      connectMs: 5_000,
      redactor: new Redactor(),
      checkAddress,
      onConnected: (ip) => connected.push(ip),
      lookup,
    });
    const target = { protocol: "http:", hostname: "evil.test", host: url.host, port: url.port };
    try {
      const address = await new Promise<string>((resolve, reject) => {
        connector.connect(target, (error, socket) => {
          if (error === null) resolve((socket as Socket).remoteAddress ?? "");
          else reject(error);
        });
      });
      expect(connected).toEqual([address]);
      return address;
    } finally {
      await connector.close();
    }
  }

  it("is connected at an allowed one", async () => {
    const allow: AllowAddress = ({ allowedByDefault }) => allowedByDefault;
    expect(await connectTo(["169.254.169.254", "127.0.0.1", "fe80::1"], allow)).toBe("127.0.0.1");
  });

  it("is not connected if none is allowed", async () => {
    await expect(connectTo(["169.254.169.254", "127.0.0.1"], () => false)).rejects.toMatchObject({
      kind: "denied",
      message: expect.stringContaining("(169.254.169.254)"),
    });
  });

  it("is not connected if its check fails", async () => {
    const fail: AllowAddress = () => {
      throw new Error("broken rule");
    };
    await expect(connectTo(["127.0.0.1"], fail)).rejects.toMatchObject({
      kind: "denied",
      cause: { message: "broken rule" },
    });
  });
});
