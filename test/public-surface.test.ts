import { describe, expect, it } from "vitest";
import * as api from "../src/index.js";
import * as langchain from "../src/langchain/index.js";
import * as langgraph from "../src/langchain/langgraph.js";
import * as manager from "../src/manager/index.js";
import * as opentelemetry from "../src/telemetry/opentelemetry/index.js";
import * as stores from "../src/stores/index.js";
import * as testing from "../src/testing/index.js";
import * as uipath from "../src/uipath/index.js";

// Literals on purpose: a change here is a change for users and must be intended.
describe("the public surface has", () => {
  it("these exports", () => {
    expect(Object.keys(api).toSorted()).toEqual([
      "CACHE_DEFAULTS",
      "CONFIG_DEFAULTS",
      "FAILURE_KINDS",
      "FAILURE_POLICIES",
      "MANAGER_DEFAULTS",
      "MCP_EVENTS",
      "McpClient",
      "McpRuntimeError",
      "McpTool",
      "REGISTRY_DEFAULTS",
      "SERVER_DEFAULTS",
      "TOOL_DEFAULTS",
      "ToolResult",
      "createMcpTools",
      "createMcpToolsForServer",
      "createMcpToolsFromAgent",
      "lastGoodResult",
      "loadMcpServers",
      "onMcpEvent",
      "parseServers",
      "validateArguments",
    ]);
    expect(Object.keys(langchain)).toEqual(["mcpMiddleware"]);
    expect(Object.keys(langgraph).toSorted()).toEqual([
      "McpToolNode",
      "createToolDisclosure",
      "loadedToolsState",
    ]);
    expect(Object.keys(manager).toSorted()).toEqual([
      "MANAGER_DEFAULTS",
      "McpServerManager",
      "REGISTRY_DEFAULTS",
      "REGISTRY_SERVER_DEFAULTS",
      "ToolRegistry",
      "publishServer",
      "registryServers",
      "withdrawServer",
    ]);
    expect(Object.keys(opentelemetry)).toEqual(["instrumentMcp"]);
    expect(Object.keys(stores).toSorted()).toEqual([
      "STORE_DEFAULTS",
      "dynamoStore",
      "fileStore",
      "fromBaseStore",
      "memoryStore",
      "redisStore",
    ]);
    expect(Object.keys(testing).toSorted()).toEqual([
      "McpTestServer",
      "UNKNOWN_SESSION_RESPONSES",
      "startMcpTestServer",
    ]);
    expect(Object.keys(uipath)).toEqual(["uipathServers"]);
  });

  it("these process-wide events", () => {
    expect(api.MCP_EVENTS).toEqual([
      "approvalDecided",
      "breakerChanged",
      "catalogRead",
      "connectionLost",
      "driftChecked",
      "handshakeEnded",
      "handshakeStarted",
      "pinMismatch",
      "requestEnded",
      "requestRetried",
      "requestStarted",
      "serverChanged",
      "sessionEnded",
      "sessionLost",
      "sessionOpened",
      "toolsChanged",
      "toolsListed",
      "warning",
    ]);
  });

  it("these failure kinds", () => {
    expect(Object.keys(api.FAILURE_KINDS)).toEqual([
      "session-lost",
      "not-sent",
      "connection-lost",
      "timeout",
      "rate-limited",
      "unavailable",
      "server-error",
      "unauthorized",
      "not-found",
      "invalid-request",
      "invalid-response",
      "too-large",
      "unsupported-protocol",
      "circuit-open",
      "denied",
      "closed",
      "cancelled",
      "invalid-config",
      "tool-error",
    ]);
  });

  it("these server defaults", () => {
    expect(api.SERVER_DEFAULTS).toEqual({
      timeouts: { connectMs: 10_000, requestMs: 60_000, totalMs: 600_000, taskMs: 3_600_000 },
      session: {
        maxRecoveries: 8,
        sequential: false,
        drainMs: 0,
        terminateOnClose: true,
        storeTtlMs: 86_400_000,
      },
      retry: { maxRetries: 2, baseDelayMs: 100, maxDelayMs: 5_000, freshSession: false },
      circuitBreaker: {
        failureThreshold: 5,
        recoveryTimeoutMs: 30_000,
        halfOpenMaxCalls: 1,
        successThreshold: 2,
      },
      limits: {
        responseBytes: 33_554_432,
        sockets: 64,
        pages: 100,
        tools: 10_000,
        resources: 10_000,
        prompts: 10_000,
        skills: 1_000,
        identities: 1_000,
        serverRequests: 8,
      },
    });
  });

  it("these tool defaults", () => {
    expect(api.TOOL_DEFAULTS).toEqual({
      schema: "portable",
      descriptions: { maxChars: 1_024, overflow: "keep" },
      structuredContent: "fallback",
      outputHandling: { image: "content", audio: "content", resource: "content" },
      inputValidation: "error",
      coerceArguments: false,
      outputValidation: "warn",
      limits: { contentChars: 100_000 },
      largeResults: "truncate",
      onToolError: "return",
      resourceTools: false,
      skillTools: false,
    });
  });

  it("these store defaults", () => {
    expect(stores.STORE_DEFAULTS).toEqual({
      timeoutMs: 2_000,
      maxBytes: 33_554_432,
      namespace: "langchain-mcp-runtime",
      maxEntries: 1_000,
      maxTotalBytes: 67_108_864,
    });
  });

  it("these cache and registry defaults", () => {
    expect(api.CACHE_DEFAULTS).toEqual({ staleAfterMs: 300_000, ttlMs: 2_592_000_000 });
    expect(api.REGISTRY_DEFAULTS).toEqual({ recordTtlMs: 60_000, refreshIntervalMs: 300_000 });
  });

  it("these config file defaults", () => {
    expect(api.CONFIG_DEFAULTS).toEqual({ project: true, user: false });
  });

  it("these manager defaults", () => {
    expect(api.MANAGER_DEFAULTS).toEqual({
      startupWaitMs: 250,
      waitForUncached: true,
      concurrency: 128,
      strict: false,
      dropFailed: true,
      closeTimeoutMs: 10_000,
      live: true,
      reconnection: {
        delaysMs: [500, 1_000, 2_000, 4_000, 15_000, 30_000, 60_000, 120_000, 240_000, 300_000],
        maxLosses: 5,
        lossWindowMs: 30_000,
      },
    });
  });

  it("these McpServerManager members", () => {
    const methods = Object.getOwnPropertyNames(manager.McpServerManager.prototype);
    expect(methods.filter((name) => name !== "constructor").toSorted()).toEqual([
      "active",
      "add",
      "clients",
      "close",
      "configured",
      "connect",
      "connected",
      "disconnect",
      "disconnectAll",
      "errors",
      "failed",
      "metrics",
      "on",
      "reconnect",
      "refresh",
      "remove",
      "status",
      "toolsOf",
      "totalMetrics",
      "waitFor",
    ]);
  });

  it("these McpClient members", () => {
    const methods = Object.getOwnPropertyNames(api.McpClient.prototype).filter(
      (name) => name !== "constructor",
    );
    expect(methods.toSorted()).toEqual([
      "breaker",
      "callTool",
      "callTools",
      "cancelTask",
      "capabilities",
      "close",
      "complete",
      "ensureSession",
      "finishAuth",
      "followLogins",
      "followTools",
      "getBreaker",
      "getCapabilities",
      "getInstructions",
      "getPrompt",
      "getServerInfo",
      "getSkill",
      "getTask",
      "hintProtocolVersion",
      "identityOf",
      "instructions",
      "isConnected",
      "lastLatencyMs",
      "listPrompts",
      "listResourceTemplates",
      "listResources",
      "listSkills",
      "listTasks",
      "listTools",
      "metrics",
      "on",
      "output",
      "ping",
      "protocolVersion",
      "readResource",
      "readSkill",
      "redactor",
      "sendRootsListChanged",
      "serverInfo",
      "sessionId",
      "sessions",
      "setLogLevel",
      "state",
      "subscribeResource",
      "toolPolicy",
      "totalMs",
      "tryCallTool",
      "tryToConnect",
      "unsubscribeResource",
      "waitForTask",
    ]);
    expect(Symbol.asyncDispose in api.McpClient.prototype).toBe(true);
  });
});
