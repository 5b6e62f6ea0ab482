// Type tests, compiled but never run: the types of toolsets, events, results and options.
import type { DocumentInterface } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { StructuredToolInterface } from "@langchain/core/tools";
import {
  type AgentDefinition,
  type ApprovalDecided,
  createMcpTools,
  createMcpToolsFromAgent,
  type FailureKind,
  type McpClient,
  type McpTool,
  type McpToolset,
  onMcpEvent,
  type ServerDefinition,
  type ServerMetrics,
  type ToolResult,
} from "langchain-mcp-runtime";
import { z } from "zod";

/** True for identical types; `any` is only identical to itself. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertType<_Assertion extends true>(): void {
  // The type argument is the assertion.
}

export async function serverNamesAreTyped(): Promise<void> {
  const mcp = await createMcpTools({ weather: { url: "http://localhost/mcp" }, files: { command: "npx" } });
  assertType<Same<typeof mcp, McpToolset<"weather" | "files">>>();
  assertType<Same<typeof mcp.clients.weather, McpClient>>();
  const document = await createMcpTools({ mcpServers: { weather: { url: "http://localhost/mcp" } } });
  assertType<Same<typeof document, McpToolset<"weather">>>();
  const listed: Record<string, ServerDefinition> = {};
  const named = await createMcpTools(listed);
  assertType<Same<typeof named, McpToolset>>();
  mcp.getTools("weather", "files");
  // @ts-expect-error unknown server
  mcp.getTools("wether");
  // @ts-expect-error unknown server
  await mcp.callTool({ name: "forecast", server: "wether" });
  // @ts-expect-error unknown server
  void mcp.clients.wether;
  // @ts-expect-error unknown server
  await mcp.getResources({ server: "wether" });
  // @ts-expect-error prompt arguments are strings
  await mcp.getPrompt({ server: "files", name: "review", args: { lines: 7 } });
  const { weather } = mcp.instructions({ configurable: { user: "alice" } });
  const runConfig: RunnableConfig = {};
  await mcp.callTools([{ name: "forecast" }], { config: runConfig });
  await mcp.toolsFor(runConfig);
  assertType<Same<typeof weather, string | undefined>>();
  mcp.on("sessionLost", ({ server }) => assertType<Same<typeof server, "weather" | "files">>());
  mcp.on("approvalDecided", ({ server, decision, ...event }) => {
    assertType<Same<typeof server, "weather" | "files">>();
    assertType<Same<typeof decision, "approve" | "edit" | "reject" | "deny">>();
    const { tool, argsHash, time }: ApprovalDecided = { ...event, server, decision };
    console.log(tool, argsHash, time);
  });
  mcp.on("catalogRead", ({ server, result }) => {
    assertType<Same<typeof server, "weather" | "files">>();
    assertType<Same<typeof result, "fresh" | "stale" | "miss">>();
  });
  assertType<Same<ReturnType<typeof mcp.metrics>["files"], ServerMetrics>>();
  // @ts-expect-error unknown event
  mcp.on("sessionForgotten", () => undefined);
}

export function processEventsAreTyped(): () => void {
  // @ts-expect-error server notifications are client events only
  onMcpEvent("notification", () => undefined);
  return onMcpEvent("requestEnded", ({ kind, server, result }) => {
    assertType<Same<typeof kind, FailureKind | undefined>>();
    assertType<Same<typeof server, string>>();
    assertType<Same<ReturnType<typeof result>, unknown>>();
  });
}

export async function toolsAreLangChainTools(mcp: McpToolset): Promise<void> {
  const tools: StructuredToolInterface[] = mcp.tools;
  assertType<Same<typeof mcp.tools, McpTool[]>>();
  const result = await mcp.callTool({ name: "x" });
  assertType<Same<typeof result, ToolResult>>();
  const documents: DocumentInterface[] = await mcp.getResources({ server: "x" });
  const messages: BaseMessage[] = await mcp.getPrompt({ server: "x", name: "y" });
  void [documents, messages];
  void tools;
}

export async function outputsAreTyped(client: McpClient): Promise<void> {
  const output = z.object({ celsius: z.number() });
  const { structuredContent } = await client.callTool({ name: "forecast" }, { output });
  assertType<Same<typeof structuredContent, { celsius: number }>>();
  const untyped = await client.callTool({ name: "forecast" });
  assertType<Same<typeof untyped.structuredContent, unknown>>();
  const outcome = await client.tryCallTool({ name: "forecast" });
  // @ts-expect-error only a successful outcome has a result
  void outcome.result;
}

export async function optionsAreChecked(): Promise<void> {
  await createMcpTools(
    {},
    { onToolError: ({ kind }) => kind, tools: { "get_*": { idempotent: true }, "admin_*": false } },
  );
  await createMcpToolsFromAgent("{}", { servers: ({ slug }) => ({ url: `http://localhost/${slug}` }) });
  // @ts-expect-error unknown option
  await createMcpTools({}, { onFail: "continue" });
  // @ts-expect-error unknown rule option
  await createMcpTools({}, { tools: { get: { idempotant: true } } });
  // @ts-expect-error two transports
  await createMcpTools({ a: { url: "http://localhost", command: "npx" } });
}

export async function agentDefinitionsAreChecked(): Promise<void> {
  const inputSchema = { type: "object" };
  const imported: { resources: { $resourceType: string; name: string; isEnabled: boolean }[] } = {
    resources: [],
  };
  await createMcpToolsFromAgent(imported);
  // Unknown keys, snake case, null for absent values and readonly arrays are allowed.
  const agent = {
    version: "1.0",
    resources: [
      { $resourceType: "mcp", name: "a", slug: null, available_tools: [{ name: "t", inputSchema, cost: 3 }] },
    ],
  } as const satisfies AgentDefinition;
  await createMcpToolsFromAgent(agent);
  // @ts-expect-error a name is a string
  await createMcpToolsFromAgent({ resources: [{ $resourceType: "mcp", name: 7 }] });
  // @ts-expect-error resources are an array
  await createMcpToolsFromAgent({ resources: {} });
}

export async function contentsAndCompletionsAreDistinguished(client: McpClient): Promise<void> {
  const [content] = await client.readResource("a:1");
  if (content?.text === undefined) assertType<Same<NonNullable<typeof content>["blob"], string>>();
  await client.complete({ prompt: "p", argument: "a", value: "" });
  await client.complete({ resourceTemplate: "a:{b}", argument: "b", value: "" });
  // @ts-expect-error prompt and resourceTemplate are exclusive
  await client.complete({ prompt: "p", resourceTemplate: "a:{b}", argument: "b", value: "" });
}
