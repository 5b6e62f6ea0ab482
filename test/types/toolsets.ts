// Compiled with the rest and never run: what the types of a toolset tell, and what they refuse.
import type { DocumentInterface } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import {
  createMcpTools,
  createMcpToolsFromAgent,
  type FailureKind,
  type McpClient,
  type McpTool,
  type McpToolset,
  onMcpEvent,
  type ServerMetrics,
  type ToolResult,
} from "langchain-mcp-runtime";
import { z } from "zod";

/** True for the very same type; `any` is the same as nothing. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_Claim extends true>(): void {
  // The claim is the test.
}

export async function serverNamesAreTypedThrough(): Promise<void> {
  const mcp = await createMcpTools({ weather: { url: "http://localhost/mcp" }, files: { command: "npx" } });
  holds<Same<typeof mcp, McpToolset<"weather" | "files">>>();
  holds<Same<typeof mcp.clients.weather, McpClient>>();
  mcp.getTools("weather", "files");
  // @ts-expect-error a server that is not there
  mcp.getTools("wether");
  // @ts-expect-error a server that is not there
  await mcp.callTool({ name: "forecast", server: "wether" });
  // @ts-expect-error a server that is not there
  void mcp.clients.wether;
  // @ts-expect-error a server that is not there
  await mcp.getResources({ server: "wether" });
  // @ts-expect-error arguments of prompts are texts
  await mcp.getPrompt({ server: "files", name: "review", args: { lines: 7 } });
  const { weather } = mcp.instructions();
  holds<Same<typeof weather, string | undefined>>();
  mcp.on("sessionLost", ({ server }) => holds<Same<typeof server, "weather" | "files">>());
  mcp.on("catalogRead", ({ server, found }) => {
    holds<Same<typeof server, "weather" | "files">>();
    holds<Same<typeof found, "fresh" | "stale" | "nothing">>();
  });
  holds<Same<ReturnType<typeof mcp.metrics>["files"], ServerMetrics>>();
  // @ts-expect-error an event that does not exist
  mcp.on("sessionForgotten", () => undefined);
}

export function eventsOfTheProcessAreTyped(): () => void {
  // @ts-expect-error what a server says stays with its client
  onMcpEvent("notification", () => undefined);
  return onMcpEvent("requestEnded", ({ kind, server, result }) => {
    holds<Same<typeof kind, FailureKind | undefined>>();
    holds<Same<typeof server, string>>();
    holds<Same<ReturnType<typeof result>, unknown>>();
  });
}

export async function toolsAreLangChainTools(mcp: McpToolset): Promise<void> {
  const tools: StructuredToolInterface[] = mcp.tools;
  holds<Same<typeof mcp.tools, McpTool[]>>();
  const result = await mcp.callTool({ name: "x" });
  holds<Same<typeof result, ToolResult>>();
  const documents: DocumentInterface[] = await mcp.getResources({ server: "x" });
  const messages: BaseMessage[] = await mcp.getPrompt({ server: "x", name: "y" });
  void [documents, messages];
  void tools;
}

export async function outputsAreTyped(client: McpClient): Promise<void> {
  const output = z.object({ celsius: z.number() });
  const { structuredContent } = await client.callTool({ name: "forecast" }, { output });
  holds<Same<typeof structuredContent, { celsius: number }>>();
  const untyped = await client.callTool({ name: "forecast" });
  holds<Same<typeof untyped.structuredContent, unknown>>();
  const outcome = await client.tryCallTool({ name: "forecast" });
  // @ts-expect-error only a call that went well has a result
  void outcome.result;
}

export async function optionsAreChecked(): Promise<void> {
  await createMcpTools(
    {},
    { onToolError: ({ kind }) => kind, tools: { "get_*": { idempotent: true }, "admin_*": false } },
  );
  await createMcpToolsFromAgent("{}", { servers: ({ slug }) => ({ url: `http://localhost/${slug}` }) });
  // @ts-expect-error an option that does not exist
  await createMcpTools({}, { onFail: "continue" });
  // @ts-expect-error a rule that does not exist
  await createMcpTools({}, { tools: { get: { idempotant: true } } });
  // @ts-expect-error two kinds at once
  await createMcpTools({ a: { url: "http://localhost", command: "npx" } });
}

export async function contentsAndCompletionsAreToldApart(client: McpClient): Promise<void> {
  const [content] = await client.readResource("a:1");
  if (content?.text === undefined) holds<Same<NonNullable<typeof content>["blob"], string>>();
  await client.complete({ prompt: "p", argument: "a", value: "" });
  await client.complete({ resourceTemplate: "a:{b}", argument: "b", value: "" });
  // @ts-expect-error one or the other
  await client.complete({ prompt: "p", resourceTemplate: "a:{b}", argument: "b", value: "" });
}
