import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type * as dynamo from "@aws-sdk/client-dynamodb";
import type { CancelScope } from "../../async/cancel-scope.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { DynamoClient } from "./dynamo-client.js";
import { quoteKey } from "../store-key.js";
import type { StoreSpec } from "../store-options.js";
import { type ShelfEntry, type StoreDriver, UnsoundEntry } from "../store-driver.js";

type DynamoSdk = typeof dynamo;
type Item = Record<string, dynamo.AttributeValue>;

/** The SDK and a client of it. */
export interface DynamoAccess {
  readonly sdk: DynamoSdk;
  readonly client: DynamoClient;
  readonly close: () => void;
}

interface DynamoShelfOptions {
  readonly config: StoreSpec;
  readonly openAccess: () => Promise<DynamoAccess>;
}

/** DynamoDB's limit for an item, names of attributes included. */
const LARGEST_ITEM = 400 * 1024;
const ROOM_FOR_NAMES = 64;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/**
 * One item for each entry, compressed: it is written as a whole, and 400 KB hold some megabytes of tools.
 * Reads are consistent: who reads again after another has written sees it.
 */
export class DynamoShelf implements StoreDriver {
  readonly name: string;
  readonly secrets = [];
  readonly #table: string;
  readonly #spec: StoreSpec;
  readonly #openAccess: () => Promise<DynamoAccess>;
  #access: Promise<DynamoAccess> | undefined;

  constructor(table: string, { config, openAccess }: DynamoShelfOptions) {
    this.name = `the DynamoDB store in table "${table}"`;
    this.#table = table;
    this.#spec = config;
    this.#openAccess = openAccess;
  }

  async read(key: string, cancellation: CancelScope): Promise<string | undefined> {
    const request = { TableName: this.#table, Key: this.#keyOf(key), ConsistentRead: true };
    const answer = await this.#send(({ GetItemCommand }) => new GetItemCommand(request), cancellation);
    const { Item: item } = answer as { readonly Item?: Item };
    if (item === undefined) return undefined;
    const packed = item["record"]?.B;
    if (packed === undefined) throw new UnsoundEntry("is not in the format of this package");
    return this.#unpack(packed);
  }

  async write({ key, text, expiresAt }: ShelfEntry, cancellation: CancelScope): Promise<void> {
    const packed = await compress(text);
    this.#checkSize(key, packed.length);
    const item: Item = { ...this.#keyOf(key), record: { B: packed } };
    // DynamoDB counts in seconds and removes things when it gets round to it; the entry itself knows better.
    if (expiresAt !== undefined) item["expires"] = { N: String(Math.ceil(expiresAt / 1000)) };
    const request = { TableName: this.#table, Item: item };
    await this.#send(({ PutItemCommand }) => new PutItemCommand(request), cancellation);
  }

  async remove(key: string, cancellation: CancelScope): Promise<void> {
    const request = { TableName: this.#table, Key: this.#keyOf(key) };
    await this.#send(({ DeleteItemCommand }) => new DeleteItemCommand(request), cancellation);
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const keys: string[] = [];
    let from: Item | undefined;
    do {
      const page = await this.#query(prefix, from, cancellation);
      for (const { sk, expires } of page.Items ?? []) {
        const hasExpired = expires?.N !== undefined && Number(expires.N) * 1000 <= this.#spec.now();
        if (sk?.S !== undefined && !hasExpired) keys.push(sk.S);
      }
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return keys;
  }

  async close(): Promise<void> {
    const access = await this.#access?.catch(() => undefined);
    access?.close();
  }

  #keyOf(key: string): Item {
    return { pk: { S: this.#spec.namespace }, sk: { S: key } };
  }

  async #query(
    prefix: string,
    from: Item | undefined,
    cancellation: CancelScope,
  ): Promise<dynamo.QueryCommandOutput> {
    const request = {
      TableName: this.#table,
      ConsistentRead: true,
      ProjectionExpression: "sk, expires",
      // An empty text is no value for a key.
      KeyConditionExpression: prefix === "" ? "pk = :pk" : "pk = :pk AND begins_with(sk, :sk)",
      ExpressionAttributeValues: {
        ":pk": { S: this.#spec.namespace },
        ...(prefix === "" ? {} : { ":sk": { S: prefix } }),
      },
      ...(from === undefined ? {} : { ExclusiveStartKey: from }),
    };
    const answer = await this.#send(({ QueryCommand }) => new QueryCommand(request), cancellation);
    return answer as dynamo.QueryCommandOutput;
  }

  async #send(command: (sdk: DynamoSdk) => object, cancellation: CancelScope): Promise<unknown> {
    this.#access ??= this.#openAccess();
    const { sdk, client } = await this.#access;
    const controller = new AbortController();
    const forget = cancellation.onCancel((reason) => controller.abort(reason));
    try {
      return await client.send(command(sdk) as never, { abortSignal: controller.signal });
    } catch (error) {
      throw this.#explain(error);
    } finally {
      forget();
    }
  }

  #explain(error: unknown): unknown {
    const name = error instanceof Error ? error.name : "";
    if (name !== "ResourceNotFoundException" && name !== "ValidationException") return error;
    const needed = 'a table with the partition key "pk" and the sort key "sk", both strings';
    const message = `DynamoDB refused the table "${this.#table}" (${name}). A store needs ${needed}.`;
    return new McpRuntimeError("unavailable", message);
  }

  #checkSize(key: string, packedBytes: number): void {
    const size = packedBytes + Buffer.byteLength(this.#spec.namespace + key) + ROOM_FOR_NAMES;
    if (size <= LARGEST_ITEM) return;
    const problem = `${quoteKey(key)} takes ${size} bytes when compressed, and DynamoDB takes ${LARGEST_ITEM}`;
    const advice = "Redis and files keep larger ones.";
    throw new McpRuntimeError("too-large", `A DynamoDB store cannot keep the value: ${problem}. ${advice}`);
  }

  async #unpack(packed: Uint8Array): Promise<string> {
    try {
      const text = await decompress(packed, { maxOutputLength: this.#spec.maxBytes });
      return text.toString();
    } catch {
      throw new UnsoundEntry("cannot be unpacked, or is larger than `maxBytes`");
    }
  }
}
