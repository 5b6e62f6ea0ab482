import { ListStore } from "../../catalog/tool-list-store.js";
import { definitionHash } from "../../config/server-fingerprint.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { fileStore } from "../../stores/drivers/file-store.js";
import type { KeyValueStore } from "../../stores/key-value-store.js";
import type { ChosenServer } from "../servers/selected-server.js";

const EVERYBODY = "";

/** The tools of servers as a program has left them in a file store. The store is read, and nothing else. */
export async function storedTools(
  servers: readonly ChosenServer[],
  folder: string,
): Promise<ReadonlyMap<string, readonly McpToolInfo[]>> {
  await using store = fileStore(folder);
  const found = await Promise.all(servers.map((server) => toolsIn(store, server)));
  return new Map(
    servers.flatMap(({ name }, index) => (found[index] === undefined ? [] : [[name, found[index]]])),
  );
}

async function toolsIn(
  store: KeyValueStore,
  { name, definition }: ChosenServer,
): Promise<readonly McpToolInfo[] | undefined> {
  const lists = new ListStore({
    server: name,
    fingerprint: definitionHash(name, definition),
    store,
    ttlMs: 0,
    now: Date.now,
    warn: () => undefined,
  });
  return (await lists.read(EVERYBODY))?.tools;
}
