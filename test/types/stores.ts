// Compiled with the rest and never run: whose clients and stores fit, and what comes back.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { BaseStore as LangChainStore, InMemoryStore } from "@langchain/core/stores";
import type { BaseStore as LangGraphStore } from "@langchain/langgraph";
import type { Redis } from "ioredis";
import {
  dynamoStore,
  fileStore,
  fromBaseStore,
  type JsonValue,
  type KeyValueStore,
  memoryStore,
  redisStore,
} from "langchain-mcp-runtime/stores";

export function theClientsOfOthersFit(redis: Redis): KeyValueStore[] {
  const dynamo = new DynamoDBClient({});
  return [
    redisStore(redis, { namespace: "mine" }),
    dynamoStore("table", { client: dynamo }),
    dynamoStore("table", { client: DynamoDBDocumentClient.from(dynamo) }),
  ];
}

export function bothKindsOfBaseStoreFit(
  langchain: LangChainStore<string, Uint8Array>,
  texts: LangChainStore<string, string>,
  memory: InMemoryStore,
  langgraph: LangGraphStore,
): KeyValueStore[] {
  return [
    fromBaseStore(langchain),
    fromBaseStore(texts, { values: "text" }),
    fromBaseStore(memory),
    fromBaseStore(langgraph, { namespace: "mcp" }),
  ];
}

export async function whatIsReadIsJson(store: KeyValueStore): Promise<void> {
  const value: JsonValue | undefined = await store.get("k");
  await store.set("k", { any: ["JSON", value ?? null] }, { ttlMs: 1_000, signal: AbortSignal.timeout(100) });
  const stop: (() => Promise<void>) | undefined = await store.watch?.((key: string | undefined) => void key);
  await stop?.();
}

/** Nothing of the SDKs is needed to write a store of one's own. */
export const own: KeyValueStore = {
  get: async () => ({ a: [1, null] }),
  set: async () => undefined,
  delete: async () => undefined,
  list: async () => [],
  close: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

export function whatDoesNotFit(): void {
  // @ts-expect-error no client
  redisStore({ url: "redis://localhost" });
  // @ts-expect-error no such option
  memoryStore({ ttlMs: 1_000 });
  // @ts-expect-error a folder is the only namespace that files need
  fileStore("cache", { namespace: "mine" });
  // @ts-expect-error neither kind of BaseStore
  fromBaseStore(new Map());
}
