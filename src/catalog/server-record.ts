import { isPlainObject, type JsonObject } from "../json/json.js";

/**
 * - `ok`: its last listing worked
 * - `failing`: since then (milliseconds since 1970) none has; its tools are those of the last that did
 * - `unknown`: nobody has asked it
 */
export type ServerHealth =
  | { readonly state: "ok" }
  | { readonly state: "failing"; readonly since: number }
  | { readonly state: "unknown" };

/** What is known of one server, here or in a place that others share. It holds no address. */
export interface ServerRecord {
  /** By its configured name. */
  readonly server: string;
  /** As the server says. */
  readonly version: string | undefined;
  readonly health: ServerHealth;
  /** When its tools were listed, in milliseconds since 1970; unknown when they never were. */
  readonly listedAt: number | undefined;
  /** The server's own names of its tools, and a hash of what each takes. */
  readonly tools: ReadonlyMap<string, string>;
}

/** Clocks of two machines differ a little; what is from further ahead is not believed. */
const MOST_SKEW_MS = 60_000;
const MOST_TOOLS = 10_000;
export const LONGEST_VERSION = 200;
const HASH = /^[0-9a-f]{12}$/;

export function unknownServer(server: string): ServerRecord {
  return { server, version: undefined, health: { state: "unknown" }, listedAt: undefined, tools: new Map() };
}

export function toStoredRecord({ server, version = "", health, listedAt, tools }: ServerRecord): JsonObject {
  return { server, version, health, listedAt, tools: [...tools] };
}

/** What a store gave, read as if a stranger had written it. Anything odd about it, and it is not there. */
export function parseRecord(value: unknown, server: string, now: number): ServerRecord | undefined {
  if (!isPlainObject(value) || value["server"] !== server) return undefined;
  const { version, listedAt } = value;
  const latest = now + MOST_SKEW_MS;
  const health = parseHealth(value["health"], latest);
  const tools = parseTools(value["tools"]);
  if (typeof version !== "string" || version.length > LONGEST_VERSION) return undefined;
  if (health === undefined || tools === undefined || !isMoment(listedAt, latest)) return undefined;
  return { server, version: version === "" ? undefined : version, health, listedAt, tools };
}

function parseHealth(value: unknown, latest: number): ServerHealth | undefined {
  if (!isPlainObject(value)) return undefined;
  const { state, since } = value;
  if (state === "ok") return { state };
  return state === "failing" && isMoment(since, latest) ? { state, since } : undefined;
}

function parseTools(value: unknown): ReadonlyMap<string, string> | undefined {
  if (!Array.isArray(value) || value.length > MOST_TOOLS || !value.every(isTool)) return undefined;
  const tools = new Map(value);
  return tools.size === value.length ? tools : undefined;
}

function isTool(value: unknown): value is [string, string] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, hash] = value as unknown[];
  return typeof name === "string" && typeof hash === "string" && HASH.test(hash);
}

function isMoment(value: unknown, latest: number): value is number {
  return typeof value === "number" && value >= 0 && value <= latest;
}
