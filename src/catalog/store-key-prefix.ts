import { wholeHash } from "../json-schema/schema-hash.js";

const LONGEST_NAME = 60;

/**
 * Where things of a server are kept in a store: readable, short enough for every store whatever the
 * server is called, and the same for nobody else.
 */
export function serverPlace(server: string, address: unknown): string {
  const readable = server.replaceAll(/[^\w.-]/g, "_").slice(0, LONGEST_NAME);
  return `${readable}/${wholeHash({ server, address })}`;
}
