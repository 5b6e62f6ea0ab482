import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import type { KeyValueStore } from "../key-value-store.js";
import { DriverStore } from "../driver-store.js";
import {
  type NamespacedStoreOptions,
  resolveStoreOptions,
  type ResolvedStoreOptions,
} from "../store-options.js";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type * as dynamo from "@aws-sdk/client-dynamodb";
import type { CancelScope } from "../../async/cancel-scope.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { quoteKey } from "../store-key.js";
import { type DriverEntry, type StoreDriver, InvalidEntryError } from "../store-driver.js";

/** The part of `DynamoDBClient` (or a document client) that the store uses. */
export interface DynamoClient {
  send(command: never, options: { readonly abortSignal: AbortSignal }): Promise<unknown>;
}

/** Options of `dynamoStore`. */
export interface DynamoStoreOptions extends NamespacedStoreOptions {
  /**
   * A client to use. It is not closed with the store.
   * @default a client created from `region` and `endpoint`
   */
  readonly client?: DynamoClient | undefined;
  /**
   * Region of the created client.
   * @default the region of the environment
   */
  readonly region?: string | undefined;
  /**
   * Endpoint of the created client.
   * @default the endpoint of AWS
   */
  readonly endpoint?: string | undefined;
}

/**
 * Creates a store in a DynamoDB table with the partition key `pk` and the sort key `sk`, both strings.
 * Enable time to live for the attribute `expires` to have expired items removed. Requires the package
 * `@aws-sdk/client-dynamodb`, which is loaded on first use.
 *
 * @throws McpRuntimeError `invalid-config` for invalid options
 * @example
 * ```ts
 * await using store = dynamoStore("mcp-tools", { region: "eu-central-1" });
 * ```
 */
export function dynamoStore(table: string, options: DynamoStoreOptions = {}): KeyValueStore {
  if (typeof table !== "string" || table === "") {
    const message = `expected the name of a table, got ${describeValue(table)}`;
    throw configError("The DynamoDB store", [{ path: "table", message }]);
  }
  const config = resolveStoreOptions("The DynamoDB store", options);
  return new DriverStore(
    new DynamoDriver(table, { config, openConnection: () => openDynamoConnection(options) }),
    config,
  );
}

async function openDynamoConnection({
  client,
  region,
  endpoint,
}: DynamoStoreOptions): Promise<DynamoConnection> {
  const sdk = await loadOptionalDependency("@aws-sdk/client-dynamodb", {
    neededBy: "A DynamoDB store",
    load: () => import("@aws-sdk/client-dynamodb"),
  });
  if (client !== undefined) return { sdk, client, close: () => undefined };
  const created = new sdk.DynamoDBClient({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  return { sdk, client: created, close: () => created.destroy() };
}

type DynamoSdk = typeof dynamo;
type Item = Record<string, dynamo.AttributeValue>;

/** The AWS SDK module and a client. */
interface DynamoConnection {
  readonly sdk: DynamoSdk;
  readonly client: DynamoClient;
  readonly close: () => void;
}

interface DynamoDriverOptions {
  readonly config: ResolvedStoreOptions;
  readonly openConnection: () => Promise<DynamoConnection>;
}

/** DynamoDB's limit for an item, including attribute names. */
const MAX_ITEM_BYTES = 400 * 1024;
const ATTRIBUTE_OVERHEAD_BYTES = 64;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/**
 * Stores one gzip-compressed item per entry: writes are atomic, and the 400 KB limit holds megabytes of tool
 * definitions. Reads are strongly consistent.
 */
class DynamoDriver implements StoreDriver {
  readonly name: string;
  readonly secrets = [];
  readonly #table: string;
  readonly #options: ResolvedStoreOptions;
  readonly #openConnection: () => Promise<DynamoConnection>;
  #connection: Promise<DynamoConnection> | undefined;

  constructor(table: string, { config, openConnection }: DynamoDriverOptions) {
    this.name = `the DynamoDB store in table "${table}"`;
    this.#table = table;
    this.#options = config;
    this.#openConnection = openConnection;
  }

  async read(key: string, cancellation: CancelScope): Promise<string | undefined> {
    const request = { TableName: this.#table, Key: this.#toKeyAttributes(key), ConsistentRead: true };
    const response = await this.#send(({ GetItemCommand }) => new GetItemCommand(request), cancellation);
    const { Item: item } = response as { readonly Item?: Item };
    if (item === undefined) return undefined;
    const compressed = item["record"]?.B;
    if (compressed === undefined) throw new InvalidEntryError("is not in the format of this package");
    return this.#decompress(compressed);
  }

  async write({ key, text, expiresAt }: DriverEntry, cancellation: CancelScope): Promise<void> {
    const compressed = await compress(text);
    this.#assertSize(key, compressed.length);
    const item: Item = { ...this.#toKeyAttributes(key), record: { B: compressed } };
    // DynamoDB expires items with second precision and a delay; the header of the entry is exact.
    if (expiresAt !== undefined) item["expires"] = { N: String(Math.ceil(expiresAt / 1000)) };
    const request = { TableName: this.#table, Item: item };
    await this.#send(({ PutItemCommand }) => new PutItemCommand(request), cancellation);
  }

  async remove(key: string, cancellation: CancelScope): Promise<void> {
    const request = { TableName: this.#table, Key: this.#toKeyAttributes(key) };
    await this.#send(({ DeleteItemCommand }) => new DeleteItemCommand(request), cancellation);
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const keys: string[] = [];
    let from: Item | undefined;
    do {
      const page = await this.#query(prefix, from, cancellation);
      for (const { sk, expires } of page.Items ?? []) {
        const hasExpired = expires?.N !== undefined && Number(expires.N) * 1000 <= this.#options.now();
        if (sk?.S !== undefined && !hasExpired) keys.push(sk.S);
      }
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return keys;
  }

  async close(): Promise<void> {
    const access = await this.#connection?.catch(() => undefined);
    access?.close();
  }

  #toKeyAttributes(key: string): Item {
    return { pk: { S: this.#options.namespace }, sk: { S: key } };
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
      // DynamoDB rejects empty strings as key values.
      KeyConditionExpression: prefix === "" ? "pk = :pk" : "pk = :pk AND begins_with(sk, :sk)",
      ExpressionAttributeValues: {
        ":pk": { S: this.#options.namespace },
        ...(prefix === "" ? {} : { ":sk": { S: prefix } }),
      },
      ...(from === undefined ? {} : { ExclusiveStartKey: from }),
    };
    const response = await this.#send(({ QueryCommand }) => new QueryCommand(request), cancellation);
    return response as dynamo.QueryCommandOutput;
  }

  async #send(command: (sdk: DynamoSdk) => object, cancellation: CancelScope): Promise<unknown> {
    this.#connection ??= this.#openConnection();
    const { sdk, client } = await this.#connection;
    const controller = new AbortController();
    const unsubscribe = cancellation.onCancel((reason) => controller.abort(reason));
    try {
      return await client.send(command(sdk) as never, { abortSignal: controller.signal });
    } catch (error) {
      throw this.#translateError(error);
    } finally {
      unsubscribe();
    }
  }

  #translateError(error: unknown): unknown {
    const name = error instanceof Error ? error.name : "";
    if (name !== "ResourceNotFoundException" && name !== "ValidationException") return error;
    const needed = 'a table with the partition key "pk" and the sort key "sk", both strings';
    const message = `DynamoDB rejected the table "${this.#table}" (${name}). A store needs ${needed}.`;
    return new McpRuntimeError("unavailable", message);
  }

  #assertSize(key: string, packedBytes: number): void {
    const size = packedBytes + Buffer.byteLength(this.#options.namespace + key) + ATTRIBUTE_OVERHEAD_BYTES;
    if (size <= MAX_ITEM_BYTES) return;
    const problem = `${quoteKey(key)} has ${size} bytes when compressed; the limit of DynamoDB is ${MAX_ITEM_BYTES}`;
    const hint = "Use a Redis or file store for larger values.";
    throw new McpRuntimeError("too-large", `A DynamoDB store cannot store the value: ${problem}. ${hint}`);
  }

  async #decompress(packed: Uint8Array): Promise<string> {
    try {
      const text = await decompress(packed, { maxOutputLength: this.#options.maxBytes });
      return text.toString();
    } catch {
      throw new InvalidEntryError("cannot be decompressed or is larger than `maxBytes`");
    }
  }
}
