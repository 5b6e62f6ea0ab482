import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startMcpTestServer } from "../../src/testing/index.js";
import { fakeTerminal, projectWith, runOn } from "./fake-terminal.js";

const quickServer = fileURLToPath(new URL("./quick-stdio-server.mjs", import.meta.url));
const COLUMNS = 100;

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const TOOLS = [
  { name: "forecast", description: "The weather of a city.", inputSchema: city, run: () => "" },
  {
    name: "sea level",
    description: "How high the sea is.\u200b\u200b Now and tomorrow.",
    inputSchema: { type: "object" },
    run: () => "",
  },
];

/** What the README shows of the command line, by the name of its place: printed by a real run. */
async function readmeRuns(): Promise<Record<string, string>> {
  await using server = await startMcpTestServer({ tools: TOOLS });
  using folder = projectWith({
    weather: { url: server.url },
    files: { command: "node", args: ["files-server.mjs", "noisy"] },
    old: { url: "http://127.0.0.1:1/mcp" },
    shop: { url: "https://shop.example.com/mcp", headers: { authorization: "Bearer ${SHOP_TOKEN}" } },
  });
  copyFileSync(quickServer, join(folder.path, "files-server.mjs"));
  const block = async (...args: readonly string[]) => {
    const env = { NO_COLOR: "1", PATH: process.env["PATH"] ?? "", LANGCHAIN_MCP_LOG: "silent" };
    const { stdout } = await runOn(fakeTerminal({ cwd: folder.path, env, columns: COLUMNS }), ...args);
    return ["```text", `$ npx langchain-mcp-runtime ${args.join(" ")}`, stdout.trimEnd(), "```"].join("\n");
  };
  return {
    "cli-list": await block("list", "weather", "files", "--yes"),
    "cli-doctor": await block("doctor", "--yes", "--recovery"),
  };
}

/** The README with each run in its place. One that differs from the last only in times and ports stays. */
export async function withRuns(readme: string): Promise<string> {
  return Object.entries(await readmeRuns()).reduce((text, [name, content]) => {
    const place = new RegExp(`(<!-- ${name} -->)([\\s\\S]*?)(<!-- /${name} -->)`);
    if (!place.test(text)) throw new Error(`The README has no place for the run "${name}".`);
    return text.replace(place, (_, before: string, between: string, after: string) => {
      const shown = between.trim();
      return `${before}\n\n${lasting(shown) === lasting(content) ? shown : content}\n\n${after}`;
    });
  }, readme);
}

function lasting(text: string): string {
  return text
    .replace(/\b\d+ ms\b|\b\d+\.\d s\b/g, "<time>")
    .replace(/127\.0\.0\.1:\d+/g, "<host>")
    .replace(/ +/g, " ");
}
