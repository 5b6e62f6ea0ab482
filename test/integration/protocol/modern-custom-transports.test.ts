import { StreamableHTTPClientTransport as ModernHttpTransport } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { McpClient, type MessageTransport, type ServerDefinition } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import { echo, eventually, rejection, NO_RETRY } from "../../fixtures/clients.js";
import { createCustomClient, createCustomTransport } from "../../fixtures/custom-transport.js";
import { EraServer, startEraServer } from "../../fixtures/era-server.js";
import { LambdaEndpoint, stubAwsEnvironment } from "../../fixtures/lambda-endpoint.js";
import { WebSocketTestServer } from "../../fixtures/websocket-server.js";

/** A connection to a server that does not use HTTP. */
interface ServerConnection extends AsyncDisposable {
  readonly definition: ServerDefinition;
  /** Returns how often it was opened. */
  opened(): number;
}

function createCountedConnection(
  server: EraServer,
  toDefinition: (open: typeof server.connect) => ServerDefinition,
): ServerConnection {
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

async function openWebSocketConnection(server: EraServer): Promise<ServerConnection> {
  const host = await WebSocketTestServer.serve(server);
  return {
    definition: { url: host.url },
    opened: () => host.upgrades.length,
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

const CONNECTIONS: Record<string, (server: EraServer) => ServerConnection | Promise<ServerConnection>> = {
  "in this process": (server) =>
    createCountedConnection(server, (connect) => ({ server: () => ({ connect }) })),
  "over a custom transport": (server) =>
    createCountedConnection(server, (connect) => ({
      openTransport: async () => {
        const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
        await connect(serverSide);
        return clientSide;
      },
    })),
  "over a WebSocket": openWebSocketConnection,
};

const COPY: TestTool = {
  name: "copy",
  run: async (_, { progress }) => {
    for (const done of [1, 2]) await progress(done, 2);
    return "copied";
  },
};

describe.each(Object.keys(CONNECTIONS))("a modern server, %s", (transportName) => {
  const open = (server: EraServer) => CONNECTIONS[transportName]?.(server) as Promise<ServerConnection>;

  it("is detected over one connection and sends notifications", async () => {
    const server = new EraServer("modern", { tools: [COPY], resources: [{ uri: "a:1", read: () => "a" }] });
    await using connection = await open(server);
    await using client = new McpClient({ name: "custom", ...NO_RETRY, ...connection.definition } as never);
    const received = new Set<unknown>();
    const onProgress = ({ progress }: { progress: number }) => received.add(progress);
    expect((await client.callTool({ name: "copy" }, { onProgress })).text()).toBe("copied");
    client.on("toolsChanged", () => received.add("tools"));
    client.on("resourceUpdated", ({ uri }) => received.add(uri));
    await client.subscribeResource("a:1");
    await server.notifyResourceUpdated("a:1");
    await server.notifyToolsChanged();
    await eventually(() => received.size === 4);
    expect(received).toEqual(new Set([1, 2, "a:1", "tools"]));
    expect(client.protocolVersion).toBe("2026-07-28");
    expect(connection.opened()).toBe(1);
  });

  it("can be replaced by a legacy server and back", async () => {
    const server = new EraServer("legacy");
    await using connection = await open(server);
    await using client = new McpClient({ name: "custom", ...NO_RETRY, ...connection.definition } as never);
    for (const era of ["legacy", "modern", "dual", "legacy"] as const) {
      server.era = era;
      await client.close();
      expect((await client.callTool(echo(era))).text()).toBe(era);
      expect(client.protocolVersion).toBe(era === "legacy" ? "2025-11-25" : "2026-07-28");
    }
  });
});

/** Sends the modern headers and reports a rejection by its status, as SDK v2 does. */
function createHttpTransport(url: string): MessageTransport {
  return createCustomTransport(async (message, transport) => {
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
  });
}

describe("a modern server, over a custom HTTP transport", () => {
  it.each(["modern", "dual"] as const)("is detected (%s)", async (era) => {
    await using server = await startEraServer(era);
    await using client = createCustomClient(() => createHttpTransport(server.url));
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
  });
});

describe("a modern server, over the HTTP transport of SDK v2", () => {
  it.each(["modern", "dual"] as const)("is detected and listed (%s)", async (era) => {
    await using server = await startEraServer(era);
    await using client = createCustomClient(() => new ModernHttpTransport(new URL(server.url)));
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
    expect(client.protocolVersion).toBe("2026-07-28");
  });
});

describe("a modern server, over the HTTP transport of SDK v1", () => {
  it("is used with sessions if it also supports the legacy era", async () => {
    await using server = await startEraServer("dual");
    await using client = createCustomClient(() => new StreamableHTTPClientTransport(new URL(server.url)));
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    await client.close();
    await client.callTool(echo());
    expect(client.protocolVersion).toBe("2025-11-25");
    const methods = server.requests.map(({ method }) => method).filter((method) => method !== undefined);
    expect(methods.filter((method) => method !== "notifications/initialized")).toEqual([
      "initialize",
      "server/discover",
      "initialize",
      "tools/call",
      "initialize",
      "tools/call",
    ]);
  });

  it("fails with a hint if it supports the modern era only", async () => {
    await using server = await startEraServer("modern");
    await using client = createCustomClient(() => new StreamableHTTPClientTransport(new URL(server.url)));
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 400, outcomeUnknown: false });
    expect(failure.message).toContain("use url instead of openTransport in the server definition");
  });
});

describe("a modern server in a Lambda function", () => {
  it("receives calls and no listen requests", async () => {
    stubAwsEnvironment();
    const server = new EraServer("modern", { tools: [COPY], resources: [{ uri: "a:1", read: () => "a" }] });
    await using endpoint = await LambdaEndpoint.serve(server);
    const definition = { functionName: "tools", region: "eu-north-1", endpoint: endpoint.url };
    await using client = new McpClient({ name: "function", ...NO_RETRY, ...definition });
    client.on("toolsChanged", () => undefined);
    const received: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => received.push(progress);
    expect((await client.callTool({ name: "copy" }, { onProgress })).text()).toBe("copied");
    expect(received).toEqual([1, 2]);
    const failure = await rejection(client.subscribeResource("a:1"));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "function" });
    expect(failure.message).toContain("Read the resource again instead.");
    expect(endpoint.invocations.map(({ message }) => message.method)).toEqual([
      "initialize",
      "server/discover",
      "tools/call",
    ]);
  });
});
