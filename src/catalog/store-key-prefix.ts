import { fullHash } from "../json-schema/schema-hash.js";

const MAX_NAME_LENGTH = 60;

/** A key prefix for one server: readable, of limited length and safe characters, and unique by hash. */
export function toStoreKeyPrefix(server: string, address: unknown): string {
  const safeName = server.replaceAll(/[^\w.-]/g, "_").slice(0, MAX_NAME_LENGTH);
  return `${safeName}/${fullHash({ server, address })}`;
}
