// A long-lived worker with Redis (REDIS_URL): it takes jobs from a list, keeps its tool lists in Redis, so that the next
// worker starts without listing them, and uses the servers that the platform team publishes there while it runs.
// SIGTERM lets it finish its job and close its sessions.
import { Redis } from "ioredis";
import { createMcpTools } from "langchain-mcp-runtime";
import { publishServer, registryServers } from "langchain-mcp-runtime/manager";
import { redisStore } from "langchain-mcp-runtime/stores";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const redisUrl = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
await using weather = await startMcpTestServer({
  tools: [{ name: "forecast", run: () => "7 °C, light rain" }],
});
await using news = await startMcpTestServer({ tools: [{ name: "headlines", run: () => "no news today" }] });

// In other processes: a program that queues jobs, the platform team, and the platform that stops the worker.
const others = new Redis(redisUrl);
await using registryStore = redisStore(redisUrl);
const queue = (...tools: string[]) => others.rpush("jobs", ...tools);
await queue("weather__forecast");

// The worker.
await using store = redisStore(redisUrl);
const jobs = new Redis(redisUrl);
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
try {
  await using mcp = await createMcpTools(
    { weather: { url: weather.url } },
    {
      cache: { store },
      registry: registryServers(store, { allow: [new URL(news.url).origin] }),
    },
  );
  mcp.on("toolsChanged", () => {
    console.log(`   tools: ${mcp.tools.map(({ name }) => name).join(", ")}`);
    void queue("news__headlines", "stop");
  });
  while (!stopping.signal.aborted) {
    const [, name = ""] = (await jobs.blpop("jobs", 1)) ?? [];
    if (name === "") continue;
    if (name === "stop") {
      process.kill(process.pid, "SIGTERM");
      await new Promise((resolve) => stopping.signal.addEventListener("abort", resolve));
      continue;
    }
    const outcome = await mcp.tryCallTool({ name });
    console.log(`job ${name}: ${outcome.ok ? outcome.result.text() : outcome.error.message}`);
    if (name === "weather__forecast") await publishServer(registryStore, { name: "news", url: news.url });
  }
  console.log(`stopping; sessions: weather ${weather.openSessions.length}, news ${news.openSessions.length}`);
} finally {
  await Promise.all([jobs.quit(), others.quit()]);
}
console.log(`stopped; sessions: weather ${weather.openSessions.length}, news ${news.openSessions.length}`);
