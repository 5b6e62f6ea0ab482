import { StreamableHTTPClientTransport as ModernHttpTransport } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, describe, expect, it, vi } from "vitest";
import { McpClient, type MessageTransport, type ServerDefinition } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import { echo, eventually, failureOf, ONCE } from "../../fixtures/clients.js";
import { EraServer, startEraServer } from "../../fixtures/era-server.js";
import { AWS_ENVIRONMENT, LambdaEndpoint } from "../../fixtures/lambda-endpoint.js";
import { WebSocketHost } from "../../fixtures/websocket-server.js";

/** A way to a server that is not HTTP. */
interface Line extends AsyncDisposable {
  readonly definition: ServerDefinition;
  /** How often it was opened. */
  opened(): number;
}

function countedLine(
  server: EraServer,
  toDefinition: (open: typeof server.connect) => ServerDefinition,
): Line {
  let opened = 0;
  const connect = async (transport: MessageTransport) => {
    opened += 1;
    await server.connect(transport);
  };
  return {
    definition: toDefinition(connect),
    opened: () => opened,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function webSocketLine(server: EraServer): Promise<Line> {
  const host = await WebSocketHost.serve(server);
  return {
    definition: { url: host.url },
    opened: () => host.upgrades.length,
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

const LINES: Record<string, (server: EraServer) => Line | Promise<Line>> = {
  "in this process": (server) => countedLine(server, (connect) => ({ server: () => ({ connect }) })),
  "over a transport of one's own": (server) =>
    countedLine(server, (connect) => ({
      openTransport: async () => {
        const [ours, theirs] = InMemoryTransport.createLinkedPair();
        await connect(theirs);
        return ours;
      },
    })),
  "over a WebSocket": webSocketLine,
};

const COPY: TestTool = {
  name: "copy",
  run: async (_, { progress }) => {
    for (const done of [1, 2]) await progress(done, 2);
    return "copied";
  },
};

describe.each(Object.keys(LINES))("a server without sessions, %s", (way) => {
  const open = (server: EraServer) => LINES[way]?.(server) as Promise<Line>;

  it("is found out and spoken to over one line, and says by itself what is new", async () => {
    const server = new EraServer("modern", { tools: [COPY], resources: [{ uri: "a:1", read: () => "a" }] });
    await using line = await open(server);
    await using client = new McpClient({ name: "line", ...ONCE, ...line.definition } as never);
    const heard = new Set<unknown>();
    const onProgress = ({ progress }: { progress: number }) => heard.add(progress);
    expect((await client.callTool({ name: "copy" }, { onProgress })).text()).toBe("copied");
    client.on("toolsChanged", () => heard.add("tools"));
    client.on("resourceUpdated", ({ uri }) => heard.add(uri));
    await client.subscribeResource("a:1");
    await server.notifyResourceUpdated("a:1");
    await server.notifyToolsChanged();
    await eventually(() => heard.size === 4);
    expect(heard).toEqual(new Set([1, 2, "a:1", "tools"]));
    expect(client.protocolVersion).toBe("2026-07-28");
    expect(line.opened()).toBe(1);
  });

  it("is called on when one with sessions takes its place, and the other way round", async () => {
    const server = new EraServer("legacy");
    await using line = await open(server);
    await using client = new McpClient({ name: "line", ...ONCE, ...line.definition } as never);
    for (const era of ["legacy", "modern", "dual", "legacy"] as const) {
      server.era = era;
      await client.close();
      expect((await client.callTool(echo(era))).text()).toBe(era);
      expect(client.protocolVersion).toBe(era === "legacy" ? "2025-11-25" : "2026-07-28");
    }
  });
});

/** Sends what the new revision needs, and tells of a refusal by its status, as the SDK's second line does. */
function ownHttp(url: string): MessageTransport {
  const transport: MessageTransport = {
    start: async () => undefined,
    close: async () => transport.onclose?.(),
    send: async (message) => {
      const { method = "", params = {} } = message;
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          "mcp-name": String(params["name"] ?? ""),
        },
        body: JSON.stringify(message),
      });
      const text = await response.text();
      if (!response.ok) throw Object.assign(new Error(text), { data: { status: response.status } });
      transport.onmessage?.(JSON.parse(text) as never);
    },
  };
  return transport;
}

function clientOver(
  openTransport: () => MessageTransport | StreamableHTTPClientTransport | ModernHttpTransport,
): McpClient {
  return new McpClient({ name: "own", ...ONCE, openTransport });
}

describe("a server without sessions, over an HTTP transport of one's own", () => {
  it.each(["modern", "dual"] as const)("is found out (%s)", async (era) => {
    await using server = await startEraServer(era);
    await using client = clientOver(() => ownHttp(server.url));
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
  });
});

describe("a server without sessions, over an HTTP transport of the SDK's second line", () => {
  it.each(["modern", "dual"] as const)("is found out and listed (%s)", async (era) => {
    await using server = await startEraServer(era);
    await using client = clientOver(() => new ModernHttpTransport(new URL(server.url)));
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
    expect(client.protocolVersion).toBe("2026-07-28");
  });
});

describe("a server without sessions, over an HTTP transport of the SDK's first line", () => {
  it("is spoken to with sessions, if it has them, too", async () => {
    await using server = await startEraServer("dual");
    await using client = clientOver(() => new StreamableHTTPClientTransport(new URL(server.url)));
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    await client.close();
    await client.callTool(echo());
    expect(client.protocolVersion).toBe("2025-11-25");
    const greetings = server.requests.map(({ method }) => method).filter((method) => method !== undefined);
    expect(greetings.filter((method) => method !== "notifications/initialized")).toEqual([
      "initialize",
      "server/discover",
      "initialize",
      "tools/call",
      "initialize",
      "tools/call",
    ]);
  });

  it("cannot be spoken to otherwise, and the error says what to do", async () => {
    await using server = await startEraServer("modern");
    await using client = clientOver(() => new StreamableHTTPClientTransport(new URL(server.url)));
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 400, outcomeUnknown: false });
    expect(failure.message).toContain("give the server's definition a url instead of openTransport");
  });
});

describe("a server without sessions in a Lambda function", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it("gets its calls, and is never asked for what it could not tell", async () => {
    for (const [name, value] of Object.entries(AWS_ENVIRONMENT)) vi.stubEnv(name, value);
    const server = new EraServer("modern", { tools: [COPY], resources: [{ uri: "a:1", read: () => "a" }] });
    await using endpoint = await LambdaEndpoint.serve(server);
    const definition = { functionName: "tools", region: "eu-north-1", endpoint: endpoint.url };
    await using client = new McpClient({ name: "function", ...ONCE, ...definition });
    client.on("toolsChanged", () => undefined);
    const heard: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => heard.push(progress);
    expect((await client.callTool({ name: "copy" }, { onProgress })).text()).toBe("copied");
    expect(heard).toEqual([1, 2]);
    const failure = await failureOf(client.subscribeResource("a:1"));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "function" });
    expect(failure.message).toContain("Read the resource again instead.");
    expect(endpoint.invocations.map(({ message }) => message.method)).toEqual([
      "initialize",
      "server/discover",
      "tools/call",
    ]);
  });
});
