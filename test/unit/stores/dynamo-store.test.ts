import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { dynamoStore } from "../../../src/stores/index.js";
import { failureOf } from "../../fixtures/clients.js";
import { DynamoServer } from "../../fixtures/dynamo-server.js";

const CANARY = "canary-4b1e";

describe("a DynamoDB store", () => {
  let server: DynamoServer;
  beforeAll(async () => {
    server = await DynamoServer.start();
    await server.createTable("entries");
    await server.createTable("others", ["id", "version"]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });
  const patient = { timeoutMs: 15_000 };

  async function itemOf(key: string) {
    const Key = { pk: { S: "langchain-mcp-runtime" }, sk: { S: key } };
    const { Item } = await server.client.send(new GetItemCommand({ TableName: "entries", Key }));
    return Item;
  }

  it("writes one item, with the second in which DynamoDB may remove it", async () => {
    const now = () => 1_700_000_000_001;
    await using store = dynamoStore("entries", { ...patient, client: server.client, now });
    await store.set("k", 1, { ttlMs: 1_000 });
    expect(await itemOf("k")).toEqual({
      pk: { S: "langchain-mcp-runtime" },
      sk: { S: "k" },
      record: { B: expect.any(Uint8Array) },
      expires: { N: "1700000002" },
    });
  });

  it("refuses what does not fit into an item, before it is sent", async () => {
    await using store = dynamoStore("entries", { ...patient, client: server.client });
    await store.set("large", randomBytes(200_000).toString("hex"));
    const error = await failureOf(store.set("larger", CANARY + randomBytes(450_000).toString("hex")));
    expect(error).toMatchObject({ kind: "too-large" });
    expect(error.message).toMatch(
      /^A DynamoDB store cannot keep the value: "larger" takes \d+ bytes when compressed, and DynamoDB takes 409600\. Redis and files keep larger ones\.$/,
    );
    expect(await itemOf("larger")).toBeUndefined();
  });

  it("takes for nothing what others have put there", async () => {
    const warnings: string[] = [];
    const logger = { ...console, warn: (message: string) => void warnings.push(message) };
    await using store = dynamoStore("entries", {
      ...patient,
      client: server.client,
      maxBytes: 1_000_000,
      logger,
    });
    const bomb = gzipSync("x".repeat(5_000_000));
    const records = { text: { S: CANARY }, garbage: { B: Buffer.from(CANARY) }, bomb: { B: bomb } };
    for (const [key, record] of Object.entries(records)) {
      const Item = { pk: { S: "langchain-mcp-runtime" }, sk: { S: key }, record };
      await server.client.send(new PutItemCommand({ TableName: "entries", Item }));
      expect(await store.get(key)).toBeUndefined();
    }
    expect(warnings).toHaveLength(3);
    expect(warnings.join()).not.toContain(CANARY);
  });

  it("takes a document client, and closes no client of the user's", async () => {
    const client = DynamoDBDocumentClient.from(server.client);
    await using store = dynamoStore("entries", { ...patient, client });
    await store.set("document", { a: 1 });
    expect(await store.get("document")).toEqual({ a: 1 });
    await store.close();
    expect(await itemOf("document")).toBeDefined();
  });

  it("makes a client from what the environment says", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    try {
      await using store = dynamoStore("entries", { ...patient, region: "local", endpoint: server.endpoint });
      await store.set("own", 1);
      expect(await store.get("own")).toBe(1);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each(["missing", "others"])("says which table it needs, when it is given: %s", async (table) => {
    await using store = dynamoStore(table, { ...patient, client: server.client });
    const error = await failureOf(store.set("k", CANARY));
    expect(error).toMatchObject({ kind: "unavailable" });
    expect(error.message).toContain(`"${table}"`);
    expect(error.message).toContain(
      'a table with the partition key "pk" and the sort key "sk", both strings.',
    );
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(CANARY);
  });

  it("fails within its time where nobody answers, and tells no secret", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", CANARY);
    try {
      await using store = dynamoStore("entries", { region: "local", endpoint: "http://127.0.0.1:1" });
      const error = await failureOf(store.set("k", CANARY));
      expect(["unavailable", "timeout"]).toContain(error.kind);
      expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(CANARY);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each([[""], [undefined]])("needs the name of a table, not %j", (table) => {
    expect(() => dynamoStore(table as string)).toThrow("table: expected the name of a table");
  });
});
