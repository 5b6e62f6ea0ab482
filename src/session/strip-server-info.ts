import { isPlainObject, type JsonObject } from "../json/json.js";
import { META_KEYS } from "../transports/http/modern-era.js";

/** A result without what a server says of itself in each of them: `_meta` is the tool's. */
export function withoutStamp(result: JsonObject): JsonObject {
  const { _meta: meta, ...rest } = result;
  if (!isPlainObject(meta) || !(META_KEYS.serverInfo in meta)) return result;
  const { [META_KEYS.serverInfo]: _, ...own } = meta;
  return Object.keys(own).length === 0 ? rest : { ...rest, _meta: own };
}
