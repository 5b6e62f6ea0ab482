import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { InMemoryStore as LangChainStore } from "@langchain/core/stores";
import { InMemoryStore as LangGraphStore } from "@langchain/langgraph";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe } from "vitest";
import { dynamoStore, fileStore, fromBaseStore, memoryStore, redisStore } from "../../src/stores/index.js";
import { entryFileOf } from "../../src/stores/drivers/entry-file.js";
import { DynamoServer } from "../fixtures/dynamo-server.js";
import { HAS_REDIS, RedisServer } from "../fixtures/redis-server.js";
import { describeStore, type StoreSubject, type StoreTraits } from "./store-contract.js";

const NAMESPACE = "langchain-mcp-runtime";
/** Nothing here is about time, and the machine may be busy. */
const PATIENT = { timeoutMs: 15_000 };
const SHARED: StoreTraits = { isShared: true, hasNamespaces: true, hasFeed: false };

function subjectOf(
  subject: Pick<StoreSubject, "open" | "plant">,
  dispose: () => unknown = () => undefined,
): StoreSubject {
  return {
    ...subject,
    async [Symbol.asyncDispose]() {
      await dispose();
    },
  };
}

describeStore("memory", { isShared: false, hasNamespaces: false, hasFeed: false }, async () =>
  subjectOf({ open: ({ now, maxBytes } = {}) => memoryStore({ now, maxTotalBytes: maxBytes }) }),
);

describeStore("files", { ...SHARED, hasNamespaces: false }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "file-store-"));
  return subjectOf(
    {
      open: (options) => fileStore(folder, { ...PATIENT, ...options }),
      plant: async (key, text) => writeFileSync(join(folder, entryFileOf(key)), text),
    },
    () => rmSync(folder, { recursive: true }),
  );
});

describe.skipIf(!HAS_REDIS)("on a real Redis", () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await RedisServer.start({ password: "canary-redis-password" });
    client = new Redis(server.url);
  });
  afterAll(async () => {
    await client.quit();
    await server[Symbol.asyncDispose]();
  });
  const plant = async (key: string, text: string) => {
    await client.set(`${NAMESPACE}:${key}`, text);
  };

  describeStore("Redis", { ...SHARED, hasFeed: true }, async () => {
    await client.flushall();
    return subjectOf({ open: (options) => redisStore(server.url, { ...PATIENT, ...options }), plant });
  });

  describeStore("Redis, through a client of the user's own", { ...SHARED, hasFeed: true }, async () => {
    await client.flushall();
    return subjectOf({ open: (options) => redisStore(client, { ...PATIENT, ...options }), plant });
  });
});

describe("on a DynamoDB table", () => {
  let server: DynamoServer;
  let tables = 0;
  beforeAll(async () => {
    server = await DynamoServer.start();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  describeStore("DynamoDB", SHARED, async () => {
    const table = `table-${(tables += 1)}`;
    await server.createTable(table);
    return subjectOf({
      open: (options) => dynamoStore(table, { ...PATIENT, ...options, client: server.client }),
      plant: async (key, text) => {
        const item = { pk: { S: NAMESPACE }, sk: { S: key }, record: { B: gzipSync(text) } };
        await server.client.send(new PutItemCommand({ TableName: table, Item: item }));
      },
    });
  });
});

describeStore("a LangChain store", SHARED, async () => {
  const langchain = new LangChainStore<Uint8Array>();
  const plant = (key: string, text: string) =>
    langchain.mset([[`${NAMESPACE}:${key}`, new TextEncoder().encode(text)]]);
  return subjectOf({ open: (options) => fromBaseStore(langchain, options), plant });
});

describeStore("a LangChain store of texts", SHARED, async () => {
  const langchain = new LangChainStore<string>();
  const plant = (key: string, text: string) => langchain.mset([[`${NAMESPACE}:${key}`, text]]);
  return subjectOf({ open: (options) => fromBaseStore(langchain, { ...options, values: "text" }), plant });
});

describeStore("a LangGraph store", SHARED, async () => {
  const langgraph = new LangGraphStore();
  const plant = (key: string, text: string) => langgraph.put([NAMESPACE], key, { record: text });
  return subjectOf({ open: (options) => fromBaseStore(langgraph, options), plant });
});
