// Type tests, compiled but never run: which clients and stores are accepted, and what reads return.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { BaseStore as LangChainStore, InMemoryStore } from "@langchain/core/stores";
import type { BaseStore as LangGraphStore } from "@langchain/langgraph";
import type { Cluster, Redis } from "ioredis";
import {
  dynamoStore,
  fileStore,
  fromBaseStore,
  type JsonValue,
  type KeyValueStore,
  memoryStore,
  redisStore,
} from "langchain-mcp-runtime/stores";

export function userClientsAreAccepted(redis: Redis, cluster: Cluster): KeyValueStore[] {
  const dynamo = new DynamoDBClient({});
  return [
    redisStore(redis, { namespace: "custom" }),
    redisStore(cluster),
    dynamoStore("table", { client: dynamo }),
    dynamoStore("table", { client: DynamoDBDocumentClient.from(dynamo) }),
  ];
}

export function bothBaseStoresAreAccepted(
  langchain: LangChainStore<string, Uint8Array>,
  strings: LangChainStore<string, string>,
  memory: InMemoryStore,
  langgraph: LangGraphStore,
): KeyValueStore[] {
  return [
    fromBaseStore(langchain),
    fromBaseStore(strings, { values: "text" }),
    fromBaseStore(memory),
    fromBaseStore(langgraph, { namespace: "mcp" }),
  ];
}

export async function readsReturnJson(store: KeyValueStore): Promise<void> {
  const value: JsonValue | undefined = await store.get("k");
  await store.set("k", { any: ["JSON", value ?? null] }, { ttlMs: 1_000, signal: AbortSignal.timeout(100) });
  const unwatch: (() => Promise<void>) | undefined = await store.watch?.(
    (key: string | undefined) => void key,
  );
  await unwatch?.();
}

/** A custom store needs no SDK types. */
export const customStore: KeyValueStore = {
  get: async () => ({ a: [1, null] }),
  set: async () => undefined,
  delete: async () => undefined,
  list: async () => [],
  close: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

export function invalidStoresAreRejected(): void {
  // @ts-expect-error not a client
  redisStore({ url: "redis://localhost" });
  // @ts-expect-error unknown option
  memoryStore({ ttlMs: 1_000 });
  // @ts-expect-error a file store has no namespace
  fileStore("cache", { namespace: "custom" });
  // @ts-expect-error not a BaseStore
  fromBaseStore(new Map());
}
