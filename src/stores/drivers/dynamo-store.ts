import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { loadPeer } from "../../errors/load-optional-dependency.js";
import type { DynamoClient } from "./dynamo-client.js";
import { type DynamoAccess, DynamoShelf } from "./dynamo-driver.js";
import type { KeyValueStore } from "../key-value-store.js";
import { DriverStore } from "../driver-store.js";
import { type NamespacedStoreOptions, resolveStoreOptions } from "../store-options.js";

export interface DynamoStoreOptions extends NamespacedStoreOptions {
  /** A client of your own, which is then not closed. */
  readonly client?: DynamoClient | undefined;
  /** Without a client: the region, or what the environment says. */
  readonly region?: string | undefined;
  /** Without a client: another address than that of AWS. */
  readonly endpoint?: string | undefined;
}

/**
 * Entries in a DynamoDB table with the partition key `pk` and the sort key `sk`, both strings. Switch on
 * its time to live for the attribute `expires`, and what has expired is removed. Needs the package
 * `@aws-sdk/client-dynamodb`, which is loaded on first use.
 */
export function dynamoStore(table: string, options: DynamoStoreOptions = {}): KeyValueStore {
  if (typeof table !== "string" || table === "") {
    const message = `expected the name of a table, found ${describeValue(table)}`;
    throw configError("The DynamoDB store", [{ path: "table", message }]);
  }
  const config = resolveStoreOptions("The DynamoDB store", options);
  return new DriverStore(new DynamoShelf(table, { config, openAccess: () => openAccess(options) }), config);
}

async function openAccess({ client, region, endpoint }: DynamoStoreOptions): Promise<DynamoAccess> {
  const sdk = await loadPeer("@aws-sdk/client-dynamodb", {
    neededBy: "A DynamoDB store",
    load: () => import("@aws-sdk/client-dynamodb"),
  });
  if (client !== undefined) return { sdk, client, close: () => undefined };
  const own = new sdk.DynamoDBClient({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  return { sdk, client: own, close: () => own.destroy() };
}
