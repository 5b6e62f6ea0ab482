import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { dynamoStore } from "../../../src/stores/index.js";
import { rejection } from "../../fixtures/clients.js";
import { DynamoServer } from "../../fixtures/dynamo-server.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";
import { startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

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
  /** Generous, because the machine may be busy. */
  const options = { timeoutMs: 15_000 };

  async function getItem(key: string) {
    const Key = { pk: { S: "langchain-mcp-runtime" }, sk: { S: key } };
    const { Item } = await server.client.send(new GetItemCommand({ TableName: "entries", Key }));
    return Item;
  }

  it("writes one item with the second after which DynamoDB may remove it", async () => {
    const now = () => 1_700_000_000_001;
    await using store = dynamoStore("entries", { ...options, client: server.client, now });
    await store.set("k", 1, { ttlMs: 1_000 });
    expect(await getItem("k")).toEqual({
      pk: { S: "langchain-mcp-runtime" },
      sk: { S: "k" },
      record: { B: expect.any(Uint8Array) },
      expires: { N: "1700000002" },
    });
  });

  it("rejects a value that exceeds the item size without sending it", async () => {
    await using store = dynamoStore("entries", { ...options, client: server.client });
    await store.set("large", randomBytes(200_000).toString("hex"));
    const error = await rejection(store.set("larger", CANARY + randomBytes(450_000).toString("hex")));
    expect(error).toMatchObject({ kind: "too-large" });
    expect(error.message).toMatch(/"larger".*409600.*Use a Redis or file store/);
    expect(await getItem("larger")).toBeUndefined();
  });

  it("ignores items that it did not write", async () => {
    const logger = new RecordingLogger();
    await using store = dynamoStore("entries", {
      ...options,
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
    expect(logger.warnings).toHaveLength(3);
    expect(logger.warnings.join()).not.toContain(CANARY);
  });

  it("accepts a document client and does not close the user's client", async () => {
    const client = DynamoDBDocumentClient.from(server.client);
    await using store = dynamoStore("entries", { ...options, client });
    await store.set("document", { a: 1 });
    expect(await store.get("document")).toEqual({ a: 1 });
    await store.close();
    expect(await getItem("document")).toBeDefined();
  });

  it("creates a client from the environment", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    await using store = dynamoStore("entries", { ...options, region: "local", endpoint: server.endpoint });
    await store.set("k", 1);
    expect(await store.get("k")).toBe(1);
  });

  it.each(["missing", "others"])(
    "names the required keys if the table is missing or has other keys: %s",
    async (table) => {
      await using store = dynamoStore(table, { ...options, client: server.client });
      const error = await rejection(store.set("k", CANARY));
      expect(error).toMatchObject({ kind: "unavailable" });
      expect(error.message).toContain(`"${table}"`);
      expect(error.message).toMatch(/partition key "pk".*sort key "sk"/);
      expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(CANARY);
    },
  );

  it("fails within its timeout if the endpoint is unreachable, without secrets in the error", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", CANARY);
    await using store = dynamoStore("entries", { region: "local", endpoint: "http://127.0.0.1:1" });
    const error = await rejection(store.set("k", CANARY));
    expect(["unavailable", "timeout"]).toContain(error.kind);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(CANARY);
  });

  it.each(["AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException"])(
    "reports %s as unauthorized, with the rights that it needs",
    async (name) => {
      await using aws = await startRawServer(({ response }) => {
        response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
        response.end(JSON.stringify({ __type: `com.amazon.coral.service#${name}`, message: CANARY }));
      });
      vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
      const endpoint = new URL(aws.url).origin;
      await using store = dynamoStore("entries", { region: "local", endpoint, ...options });
      const error = await rejection(store.get("k"));
      expect(error).toMatchObject({ kind: "unauthorized" });
      expect(error.message).toContain(`(${name})`);
      expect(error.message).toContain("dynamodb:GetItem");
    },
  );

  it("reports an error of AWS whose message is not a string", async () => {
    await using aws = await startRawServer(({ response }) => {
      response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
      response.end(JSON.stringify({ __type: "Odd", message: { a: 1 }, stack: 5 }));
    });
    vi.stubEnv("AWS_ACCESS_KEY_ID", "key");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    const endpoint = new URL(aws.url).origin;
    await using store = dynamoStore("entries", { region: "local", endpoint, ...options });
    expect(await rejection(store.get("k"))).toMatchObject({ kind: "unavailable" });
  });

  it.each([[""], [undefined]])("requires a table name, not %j", (table) => {
    expect(catchConfigError(() => dynamoStore(table as string)).issues).toMatchObject([{ path: "table" }]);
  });
});
