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
import { entryFileName } from "../../src/stores/drivers/file-store.js";
import { DynamoServer } from "../fixtures/dynamo-server.js";
import { HAS_REDIS, RedisServer } from "../fixtures/redis-server.js";
import { describeStore, type StoreSubject, type StoreTraits } from "./store-contract.js";

const NAMESPACE = "langchain-mcp-runtime";
/** Generous, because the machine may be busy. */
const LONG_TIMEOUT = { timeoutMs: 15_000 };
const SHARED: StoreTraits = { isShared: true, hasNamespaces: true, hasFeed: false, hasLeases: false };

function createSubject(
  subject: Pick<StoreSubject, "open" | "writeRaw">,
  dispose: () => unknown = () => undefined,
): StoreSubject {
  return {
    ...subject,
    async [Symbol.asyncDispose]() {
      await dispose();
    },
  };
}

describeStore(
  "memory",
  { isShared: false, hasNamespaces: false, hasFeed: false, hasLeases: false },
  async () =>
    createSubject({ open: ({ now, maxBytes } = {}) => memoryStore({ now, maxTotalBytes: maxBytes }) }),
);

describeStore("files", { ...SHARED, hasNamespaces: false }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "file-store-"));
  return createSubject(
    {
      open: (options) => fileStore(folder, { ...LONG_TIMEOUT, ...options }),
      writeRaw: async (key, text) => writeFileSync(join(folder, entryFileName(key)), text),
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
  const writeRaw = async (key: string, text: string) => {
    await client.set(`${NAMESPACE}:${key}`, text);
  };

  describeStore("Redis", { ...SHARED, hasFeed: true, hasLeases: true }, async () => {
    await client.flushall();
    return createSubject({
      open: (options) => redisStore(server.url, { ...LONG_TIMEOUT, ...options }),
      writeRaw,
    });
  });

  describeStore("Redis with the user's client", { ...SHARED, hasFeed: true, hasLeases: true }, async () => {
    await client.flushall();
    return createSubject({
      open: (options) => redisStore(client, { ...LONG_TIMEOUT, ...options }),
      writeRaw,
    });
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

  describeStore("DynamoDB", { ...SHARED, hasLeases: true }, async () => {
    const table = `table-${(tables += 1)}`;
    await server.createTable(table);
    return createSubject({
      open: (options) => dynamoStore(table, { ...LONG_TIMEOUT, ...options, client: server.client }),
      writeRaw: async (key, text) => {
        const item = { pk: { S: NAMESPACE }, sk: { S: key }, record: { B: gzipSync(text) } };
        await server.client.send(new PutItemCommand({ TableName: table, Item: item }));
      },
    });
  });
});

describeStore("a LangChain store", SHARED, async () => {
  const langchain = new LangChainStore<Uint8Array>();
  const writeRaw = (key: string, text: string) =>
    langchain.mset([[`${NAMESPACE}:${key}`, new TextEncoder().encode(text)]]);
  return createSubject({ open: (options) => fromBaseStore(langchain, options), writeRaw });
});

describeStore("a LangChain store of strings", SHARED, async () => {
  const langchain = new LangChainStore<string>();
  const writeRaw = (key: string, text: string) => langchain.mset([[`${NAMESPACE}:${key}`, text]]);
  return createSubject({
    open: (options) => fromBaseStore(langchain, { ...options, values: "text" }),
    writeRaw,
  });
});

describeStore("a LangGraph store", SHARED, async () => {
  const langgraph = new LangGraphStore();
  const writeRaw = (key: string, text: string) => langgraph.put([NAMESPACE], key, { record: text });
  return createSubject({ open: (options) => fromBaseStore(langgraph, options), writeRaw });
});
