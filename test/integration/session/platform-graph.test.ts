import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { transpile } from "../../fixtures/transpile.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const RUNS = 5;

/** Calls the tool, and then answers with its result. */
const MODEL = `
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
const answer = async (messages: BaseMessage[]) => {
  const last = messages.at(-1);
  if (last?.getType() === "tool") return new AIMessage(last.text);
  const call = { id: "1", name: "weather__echo", args: { text: last?.text } };
  return new AIMessage({ content: "", tool_calls: [call] });
};
const model = { bindTools: () => ({ invoke: answer }) };
`;

/** Loads the exported graph, as the platform does, and runs it for several threads at once. */
const HOST = `
const { graph } = await import("./graph.mjs");
const inputs = Array.from({ length: ${RUNS} }, (_, n) => ({ messages: [{ role: "user", content: "run " + n }] }));
const states = await Promise.all(inputs.map((input) => graph.invoke(input)));
console.log(JSON.stringify(states.map(({ messages }) => messages.at(-1).text)));
`;

/** The graph of docs/production.md, with a model and the address of a server. */
function createGraphModule(url: string): string {
  const page = readFileSync(join(root, "docs/production.md"), "utf8");
  const [, code = ""] = /## LangGraph Platform[\s\S]*?```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const parts = code.split(/declare const model.*\n/);
  expect(parts).toHaveLength(2);
  return parts.join(MODEL).replace("https://weather.example.com/mcp", url);
}

it("the graph for LangGraph Platform has one session for many runs, and closes it on SIGTERM", async () => {
  await using server = await startMcpTestServer();
  const folder = mkdtempSync(join(root, "test/.graph-"));
  writeFileSync(join(folder, "graph.mjs"), transpile(createGraphModule(server.url)));
  writeFileSync(join(folder, "host.mjs"), HOST);
  const child = spawn(process.execPath, [join(folder, "host.mjs")], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  try {
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    expect(JSON.parse(line)).toEqual(Array.from({ length: RUNS }, (_, n) => `run ${n}`));
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("tools/call")).toHaveLength(RUNS);
    child.kill("SIGTERM");
    // Nothing keeps the process alive after close.
    expect(await exited).toEqual([0, null]);
    expect(server.received("DELETE")).toHaveLength(1);
  } finally {
    if (child.exitCode === null) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});
