// A Next.js application with one route that uses the package: builds it, starts it and requests the route.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";

const ROUTE = `import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

export const dynamic = "force-dynamic";

export async function GET() {
  const server = await startMcpTestServer();
  const mcp = await createMcpTools({ web: { url: server.url } });
  const result = await mcp.callTool({ name: "web__echo", args: { text: "works" } });
  await mcp.close();
  await server.close();
  return new Response(result.text());
}
`;
const LAYOUT = `export default function Layout({ children }) {
  return <html><body>{children}</body></html>;
}
`;

mkdirSync("app/tools", { recursive: true });
writeFileSync("app/layout.jsx", LAYOUT);
writeFileSync("app/tools/route.js", ROUTE);
const next = ["node_modules/next/dist/bin/next"];
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
const build = spawnSync(process.execPath, [...next, "build"], { env, encoding: "utf8", timeout: 240_000 });
if (build.status !== 0) throw new Error(`next build failed: ${(build.stdout + build.stderr).slice(-1_000)}`);
const server = spawn(process.execPath, [...next, "start", "-p", "0", "-H", "127.0.0.1"], { env });
try {
  const port = await new Promise((resolve, reject) => {
    let output = "";
    const read = (chunk) => {
      output += String(chunk);
      const match = /127\.0\.0\.1:(\d+)/.exec(output);
      if (match) resolve(match[1]);
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.once("exit", () => reject(new Error(`next start ended: ${output.slice(-1_000)}`)));
  });
  const response = await fetch(`http://127.0.0.1:${port}/tools`);
  const text = await response.text();
  if (text !== "works") throw new Error(`expected "works", got ${response.status} ${text.slice(0, 300)}`);
} finally {
  server.kill("SIGKILL");
}
