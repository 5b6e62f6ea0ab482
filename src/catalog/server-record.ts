import { isPlainObject, type JsonObject } from "../json/json.js";

/**
 * The state of a server in the registry.
 * - `ok`: the last listing succeeded
 * - `failing`: listing has failed since `since` (Unix time in milliseconds); the tools are those last listed
 * - `unknown`: never listed
 */
export type ServerHealth =
  | { readonly state: "ok" }
  | { readonly state: "failing"; readonly since: number }
  | { readonly state: "unknown" };

/** What the registry has recorded about one server. Contains no address. */
export interface ServerRecord {
  /** The configured name. */
  readonly server: string;
  /** The version that the server reports. */
  readonly version: string | undefined;
  readonly health: ServerHealth;
  /** When the tools were last listed (Unix time in milliseconds); `undefined` if never. */
  readonly listedAt: number | undefined;
  /** Tool names on the server, each with a hash of its input schema. */
  readonly tools: ReadonlyMap<string, string>;
}

/** Tolerated clock difference between machines; a record dated further in the future is rejected. */
const MAX_CLOCK_SKEW_MS = 60_000;
const MAX_TOOLS = 10_000;
export const MAX_VERSION_LENGTH = 200;
const HASH_PATTERN = /^[0-9a-f]{12}$/;

export function createUnknownRecord(server: string): ServerRecord {
  return { server, version: undefined, health: { state: "unknown" }, listedAt: undefined, tools: new Map() };
}

export function toStoredRecord({ server, version = "", health, listedAt, tools }: ServerRecord): JsonObject {
  return { server, version, health, listedAt, tools: [...tools] };
}

/** Parses a stored record, which is untrusted input; returns `undefined` if anything about it is invalid. */
export function parseRecord(value: unknown, server: string, now: number): ServerRecord | undefined {
  if (!isPlainObject(value) || value["server"] !== server) return undefined;
  const { version, listedAt } = value;
  const latest = now + MAX_CLOCK_SKEW_MS;
  const health = parseHealth(value["health"], latest);
  const tools = parseTools(value["tools"]);
  if (typeof version !== "string" || version.length > MAX_VERSION_LENGTH) return undefined;
  if (health === undefined || tools === undefined || !isTimestamp(listedAt, latest)) return undefined;
  return { server, version: version === "" ? undefined : version, health, listedAt, tools };
}

function parseHealth(value: unknown, latest: number): ServerHealth | undefined {
  if (!isPlainObject(value)) return undefined;
  const { state, since } = value;
  if (state === "ok") return { state };
  return state === "failing" && isTimestamp(since, latest) ? { state, since } : undefined;
}

function parseTools(value: unknown): ReadonlyMap<string, string> | undefined {
  if (!Array.isArray(value) || value.length > MAX_TOOLS || !value.every(isTool)) return undefined;
  const tools = new Map(value);
  return tools.size === value.length ? tools : undefined;
}

function isTool(value: unknown): value is [string, string] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, hash] = value as unknown[];
  return typeof name === "string" && typeof hash === "string" && HASH_PATTERN.test(hash);
}

function isTimestamp(value: unknown, latest: number): value is number {
  return typeof value === "number" && value >= 0 && value <= latest;
}
