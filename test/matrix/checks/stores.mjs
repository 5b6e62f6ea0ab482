export const packages = ["langchain-mcp-runtime/stores"];

/** A value is written to and read from the store at REDIS_URL or DYNAMO_ENDPOINT. */
export async function check(modules) {
  const { dynamoStore, redisStore } = modules["langchain-mcp-runtime/stores"];
  const { REDIS_URL: redisUrl, DYNAMO_ENDPOINT: endpoint } = process.env;
  const store =
    redisUrl === undefined ? dynamoStore("matrix", { endpoint, region: "local" }) : redisStore(redisUrl);
  try {
    await store.set("key", "works");
    return await store.get("key");
  } finally {
    await store.close();
  }
}
