import { option, type OptionsOf, optionsSchema } from "../../config/parse-options.js";
import { configError, McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { describeValue } from "../../json/describe-value.js";
import { omitUndefined } from "../../json/json.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { type KeyValueStore, quoteKey } from "../key-value-store.js";
import {
  type DriverEntry,
  type DriverLease,
  DriverStore,
  type FailureExplanation,
  type StoreDriver,
} from "../driver-store.js";
import { InvalidEntryError } from "../entry-codec.js";
import { ListingLimit } from "../listing-limit.js";
import {
  type NamespacedStoreOptions,
  resolveStoreOptions,
  type ResolvedStoreOptions,
  STORE_FIELDS,
} from "../store-options.js";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type * as dynamo from "@aws-sdk/client-dynamodb";
import type { CancelScope } from "../../async/cancel-scope.js";

/** The part of `DynamoDBClient` (or a document client) that the store uses. */
export interface DynamoClient {
  /** Sends a command of `@aws-sdk/client-dynamodb`. */
  send(command: never, options: { readonly abortSignal: AbortSignal }): Promise<unknown>;
}

const CLIENT_FIELDS = {
  /**
   * A client to use. It is not closed with the store.
   * @default a client created from `region` and `endpoint`
   */
  client: option.any<DynamoClient>(),
  /**
   * Region of the created client.
   * @default the region of the environment
   */
  region: option.any<string>(),
  /**
   * Endpoint of the created client.
   * @default the endpoint of AWS
   */
  endpoint: option.any<string>(),
};

/** Options of `dynamoStore`. */
export interface DynamoStoreOptions
  extends NamespacedStoreOptions, OptionsOf<typeof CLIENT_FIELDS, undefined> {}

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
  const config = resolveStoreOptions("The DynamoDB store", options, DYNAMO_STORE_SCHEMA);
  return new DriverStore(new DynamoDriver(table, options, config), config);
}

/** The options of the AWS client are validated by the AWS SDK. */
const DYNAMO_STORE_SCHEMA = optionsSchema<DynamoStoreOptions>({
  ...STORE_FIELDS,
  ...CLIENT_FIELDS,
});

type Item = Record<string, dynamo.AttributeValue>;

/** The AWS SDK module and a client. */
interface DynamoConnection {
  readonly sdk: typeof dynamo;
  readonly client: DynamoClient;
  readonly close: () => void;
}

type CommandName = "GetItemCommand" | "PutItemCommand" | "DeleteItemCommand" | "QueryCommand";

async function openConnection({ client, region, endpoint }: DynamoStoreOptions): Promise<DynamoConnection> {
  const sdk = await loadOptionalDependency("@aws-sdk/client-dynamodb", {
    neededBy: "A DynamoDB store",
    load: () => import("@aws-sdk/client-dynamodb"),
  });
  if (client !== undefined) return { sdk, client, close: () => undefined };
  const created = new sdk.DynamoDBClient(omitUndefined({ region, endpoint }));
  return { sdk, client: created, close: () => created.destroy() };
}

/** DynamoDB's limit for an item, including attribute names. */
const MAX_ITEM_BYTES = 400 * 1024;
const ATTRIBUTE_OVERHEAD_BYTES = 64;

/** Errors of AWS about credentials that are missing, invalid, expired or without a right. */
const ACCESS_ERRORS: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "CredentialsProviderError",
  "ExpiredTokenException",
  "IncompleteSignatureException",
  "InvalidSignatureException",
  "MissingAuthenticationTokenException",
  "UnrecognizedClientException",
]);
const ACCESS_EXPLANATION: FailureExplanation = {
  kind: "unauthorized",
  text: "Check the credentials of AWS. They need the rights dynamodb:GetItem, PutItem, DeleteItem and Query on the table.",
};

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/**
 * Stores one gzip-compressed item per entry: writes are atomic, and the 400 KB limit holds megabytes of tool
 * definitions. Reads are strongly consistent.
 */
class DynamoDriver implements StoreDriver {
  readonly name: string;
  readonly #table: string;
  readonly #options: DynamoStoreOptions;
  readonly #config: ResolvedStoreOptions;
  #connection: Promise<DynamoConnection> | undefined;

  constructor(table: string, options: DynamoStoreOptions, config: ResolvedStoreOptions) {
    this.name = `the DynamoDB store in table "${table}"`;
    this.#table = table;
    this.#options = options;
    this.#config = config;
  }

  async read(key: string, cancellation: CancelScope): Promise<string | undefined> {
    const request = { Key: this.#toKeyAttributes(key), ConsistentRead: true };
    const response = await this.#send("GetItemCommand", request, cancellation);
    const { Item: item } = response as { readonly Item?: Item };
    if (item === undefined) return undefined;
    const compressed = item["record"]?.B;
    if (compressed === undefined) throw new InvalidEntryError("is not in the format of this package");
    try {
      const text = await decompress(compressed, { maxOutputLength: this.#config.maxBytes });
      return text.toString();
    } catch {
      throw new InvalidEntryError("cannot be decompressed or is larger than `maxBytes`");
    }
  }

  async write({ key, text, expiresAt }: DriverEntry, cancellation: CancelScope): Promise<void> {
    const compressed = await compress(text);
    this.#assertSize(key, compressed.length);
    const item: Item = { ...this.#toKeyAttributes(key), record: { B: compressed } };
    // DynamoDB expires items with second precision and a delay; the header of the entry is exact.
    if (expiresAt !== undefined) item["expires"] = { N: String(Math.ceil(expiresAt / 1000)) };
    await this.#send("PutItemCommand", { Item: item }, cancellation);
  }

  async remove(key: string, cancellation: CancelScope): Promise<void> {
    await this.#send("DeleteItemCommand", { Key: this.#toKeyAttributes(key) }, cancellation);
  }

  /** A lease expires by the clock of the client that wants to take it. */
  readonly leases = {
    create: (lease: DriverLease, cancellation: CancelScope): Promise<boolean> =>
      this.#putLease(lease, "attribute_not_exists(sk) OR leaseUntil <= :now", cancellation),
    renew: (lease: DriverLease, cancellation: CancelScope): Promise<boolean> =>
      this.#putLease(lease, "leaseToken = :token AND leaseUntil > :now", cancellation),
    remove: async ({ key, token }: DriverLease, cancellation: CancelScope): Promise<void> => {
      const values = { ":token": { S: token } };
      const condition = { ConditionExpression: "leaseToken = :token", ExpressionAttributeValues: values };
      const request = { Key: this.#toKeyAttributes(key), ...condition };
      await isConditionMet(this.#send("DeleteItemCommand", request, cancellation));
    },
  };

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const limit = new ListingLimit(cancellation);
    const keys: string[] = [];
    const request = {
      ConsistentRead: true,
      ProjectionExpression: "sk, expires",
      // DynamoDB rejects empty strings as key values.
      KeyConditionExpression: prefix === "" ? "pk = :pk" : "pk = :pk AND begins_with(sk, :sk)",
      ExpressionAttributeValues: {
        ":pk": { S: this.#config.namespace },
        ...(prefix === "" ? {} : { ":sk": { S: prefix } }),
      },
    };
    let from: Item | undefined;
    do {
      const response = await this.#send(
        "QueryCommand",
        { ...request, ExclusiveStartKey: from },
        cancellation,
      );
      const page = response as dynamo.QueryCommandOutput;
      await limit.addPage(page.Items?.length ?? 0);
      for (const { sk, expires } of page.Items ?? []) {
        const hasExpired = expires?.N !== undefined && Number(expires.N) * 1000 <= this.#config.now();
        if (sk?.S !== undefined && !hasExpired) keys.push(sk.S);
      }
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
    return keys;
  }

  explainFailure({ name }: Error): FailureExplanation | undefined {
    return ACCESS_ERRORS.has(name) ? ACCESS_EXPLANATION : undefined;
  }

  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    connection?.close();
  }

  /** Returns whether the condition was met, in which `:token` and `:now` can be used. */
  #putLease({ key, token, ttlMs }: DriverLease, condition: string, scope: CancelScope): Promise<boolean> {
    const now = this.#config.now();
    const item: Item = {
      ...this.#toKeyAttributes(key),
      leaseToken: { S: token },
      leaseUntil: { N: String(now + ttlMs) },
      expires: { N: String(Math.ceil((now + ttlMs) / 1000)) },
    };
    const values: Item = { ":now": { N: String(now) } };
    if (condition.includes(":token")) values[":token"] = { S: token };
    const request = { Item: item, ConditionExpression: condition, ExpressionAttributeValues: values };
    return isConditionMet(this.#send("PutItemCommand", request, scope));
  }

  #toKeyAttributes(key: string): Item {
    return { pk: { S: this.#config.namespace }, sk: { S: key } };
  }

  async #send(name: CommandName, request: object, cancellation: CancelScope): Promise<unknown> {
    this.#connection ??= openConnection(this.#options);
    const { sdk, client } = await this.#connection;
    const Command: new (input: never) => object = sdk[name];
    const command = new Command({ TableName: this.#table, ...request } as never);
    const controller = new AbortController();
    const unsubscribe = cancellation.onCancel((reason) => controller.abort(reason));
    try {
      return await client.send(command as never, { abortSignal: controller.signal });
    } catch (error) {
      const problem = error instanceof Error ? error.name : "";
      if (problem !== "ResourceNotFoundException" && problem !== "ValidationException") throw error;
      const needed = 'a table with the partition key "pk" and the sort key "sk", both strings';
      const message = `DynamoDB rejected the table "${this.#table}" (${problem}). A store needs ${needed}.`;
      throw new McpRuntimeError("unavailable", message);
    } finally {
      unsubscribe();
    }
  }

  #assertSize(key: string, packedBytes: number): void {
    const size = packedBytes + Buffer.byteLength(this.#config.namespace + key) + ATTRIBUTE_OVERHEAD_BYTES;
    if (size <= MAX_ITEM_BYTES) return;
    const problem = `${quoteKey(key)} has ${size} bytes when compressed; the limit of DynamoDB is ${MAX_ITEM_BYTES}`;
    const hint = "Use a Redis or file store for larger values.";
    throw new McpRuntimeError("too-large", `A DynamoDB store cannot store the value: ${problem}. ${hint}`);
  }
}

async function isConditionMet(response: Promise<unknown>): Promise<boolean> {
  try {
    await response;
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === "ConditionalCheckFailedException") return false;
    throw error;
  }
}
