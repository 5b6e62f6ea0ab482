import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { dynamoStore, fromBaseStore, type KeyValueStore, redisStore } from "../../../src/stores/index.js";
import { rejection } from "../../fixtures/clients.js";

/** A listing that is still running after this many pages has ignored its time limit. */
const PAGES = 20_000;
const TIMEOUT_MS = 20;

/** Counts pages that are returned at once, without I/O. */
function createPages(maxPages = PAGES) {
  let pages = 0;
  return () => {
    pages += 1;
    if (pages > maxPages) throw new Error("The listing has ignored its time limit.");
    return pages;
  };
}

function createItems(count: number, from = 0) {
  const record = (key: string) => ({ record: `{"format":1,"key":"${key}"}\n1` });
  const keys = Array.from({ length: count }, (_, index) => `k${from + index}`);
  return keys.map((key) => ({ namespace: ["langchain-mcp-runtime"], key, value: record(key) }));
}

const openGraphStore = (search: (offset: number) => readonly unknown[]) => {
  const options = { search: async (_: unknown, { offset }: { readonly offset: number }) => search(offset) };
  const methods = { get: async () => null, put: async () => undefined, delete: async () => undefined };
  return fromBaseStore({ ...methods, ...options } as never, { timeoutMs: TIMEOUT_MS });
};

const openers: [string, () => KeyValueStore][] = [
  [
    "a LangGraph store",
    () => {
      const nextPage = createPages();
      return openGraphStore((offset) => (nextPage(), createItems(100, offset)));
    },
  ],
  [
    "a LangChain store",
    () => {
      const nextPage = createPages(100 * PAGES);
      const yieldKeys = async function* () {
        for (;;) yield `other:${nextPage()}`;
      };
      const methods = { mget: async () => [], mset: async () => undefined, mdelete: async () => undefined };
      return fromBaseStore({ ...methods, yieldKeys }, { timeoutMs: TIMEOUT_MS });
    },
  ],
  [
    "a DynamoDB store",
    () => {
      // The first use loads the AWS SDK.
      const nextPage = createPages(10 * PAGES);
      const send = async () => ({ Items: [], LastEvaluatedKey: { sk: { N: String(nextPage()) } } });
      return dynamoStore("entries", { client: { send }, timeoutMs: 500 });
    },
  ],
  [
    "a Redis store",
    () => {
      const nextPage = createPages();
      const client = new Redis({ lazyConnect: true });
      client.call = (async (command: string) =>
        command === "scan" ? [String(nextPage()), []] : []) as never;
      return redisStore(client, { timeoutMs: TIMEOUT_MS });
    },
  ],
];

it.each(openers)(
  "%s whose pages do not end, and need no I/O, is listed within its time limit",
  async (_, open) => {
    await using store = open();
    expect(await rejection(store.list("servers/"))).toMatchObject({ kind: "timeout" });
  },
);

it("a LangGraph store that ignores the offset is listed once", async () => {
  const items = createItems(150);
  const nextPage = createPages();
  let searches = 0;
  await using store = openGraphStore(() => {
    searches = nextPage();
    return items;
  });
  expect(await store.list("k")).toHaveLength(150);
  expect(searches).toBe(2);
});

it("a store with more than a million entries is not listed", async () => {
  const [item] = createItems(1);
  const items = Array.from({ length: 1_000_001 }, () => item);
  const nextPage = createPages(2);
  await using store = openGraphStore(() => (nextPage(), items));
  expect(await rejection(store.list(""))).toMatchObject({ kind: "too-large" });
});
