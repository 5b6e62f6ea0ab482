import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ListStore } from "../../build/catalog/tool-list-store.js";
import { ToolCatalogue } from "../../build/catalog/tool-catalog.js";
import { systemClock } from "../../build/async/clock.js";
import { McpClient } from "../../dist/index.js";
import { fileStore } from "../../dist/stores/index.js";

const server = "stored";
const A_DAY_MS = 86_400_000;

/**
 * Three ways to the tools of one server: asked for, on a session that is open; at hand in this process;
 * and from a file, as a process that has just begun finds them.
 */
export async function openCatalogues(url) {
  const folder = await mkdtemp(join(tmpdir(), "langchain-mcp-bench-"));
  const client = new McpClient({ name: server, url });
  const store = fileStore(folder);
  const openCatalogue = () => createCatalogue(client, store);
  const known = openCatalogue();
  await known.list();
  await untilStored(store);
  return {
    listing: () => client.listTools(),
    memory: () => known.list(),
    file: () => openCatalogue().list(),
    async close() {
      await client.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

const { now } = Date;
const warn = (message) => process.stderr.write(`${message}\n`);

function createCatalogue(client, store) {
  const { fingerprint } = client;
  return new ToolCatalogue({
    server,
    source: client,
    freshMs: A_DAY_MS,
    clock: systemClock,
    now,
    inspect: async () => undefined,
    warn,
    store: new ListStore({ server, fingerprint, store, keepMs: A_DAY_MS, now, warn }),
  });
}

/** It is written aside, while whoever asked has the list already. */
async function untilStored(store) {
  while ((await store.list("")).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
