export type { JsonValue } from "../json/json.js";
export { type DynamoClient, dynamoStore, type DynamoStoreOptions } from "./drivers/dynamo-store.js";
export { fileStore, type FileStoreOptions } from "./drivers/file-store.js";
export {
  type BaseStoreOptions,
  fromBaseStore,
  type LangChainStore,
  type LangGraphStore,
} from "./drivers/from-base-store.js";
export type {
  KeyValueStore,
  StoreCallOptions,
  StoreLease,
  StoreLeaseOptions,
  StoreSetOptions,
} from "./key-value-store.js";
export { memoryStore, type MemoryStoreOptions } from "./drivers/memory-store.js";
export type { RedisClient, RedisClusterClient } from "./drivers/redis-client.js";
export { redisStore, type RedisStoreOptions } from "./drivers/redis-store.js";
export { type NamespacedStoreOptions, STORE_DEFAULTS, type StoreOptions } from "./store-options.js";
