import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolCatalog } from "../../build/catalog/tool-catalog.js";
import { ToolListStore } from "../../build/catalog/tool-list-store.js";
import { McpClient } from "../../dist/index.js";
import { fileStore } from "../../dist/stores/index.js";

const server = "catalog-cache";
const DAY_MS = 86_400_000;

/**
 * Three sources of the tools of one server: a request on an open session; the cache in memory; and a
 * file, read by a new catalog as after a process restart.
 */
export async function openCatalogs(url) {
  const folder = await mkdtemp(join(tmpdir(), "langchain-mcp-bench-"));
  const client = new McpClient({ name: server, url });
  const store = fileStore(folder);
  const warmCatalog = createCatalog(client, store);
  await warmCatalog.list();
  await waitUntilStored(store);
  return {
    server: () => client.listTools(),
    memory: () => warmCatalog.list(),
    file: () => createCatalog(client, store).list(),
    async close() {
      await client.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

const { now } = Date;
const warn = (message) => process.stderr.write(`${message}\n`);

function createCatalog(client, store) {
  const { fingerprint } = client;
  return new ToolCatalog(client, {
    staleAfterMs: DAY_MS,
    events: { emit: () => undefined },
    warn,
    store: new ToolListStore({ server, fingerprint, store, ttlMs: DAY_MS, now, warn }),
  });
}

/** The catalog returns a list before it is written to the store. */
async function waitUntilStored(store) {
  while ((await store.list("")).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
