import { type JsonObject, toArray } from "../json/json.js";
import type { McpToolInfo } from "../config/list-items.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { LimitedStore } from "../stores/driver-store.js";
import type { CatalogEventEmitter } from "./tool-catalog.js";
import { toStoreKeyPrefix } from "./tool-list-store.js";
import { fullHash } from "../json-schema/schema-hash.js";

/** What happens when a tool differs from its approved version: log a warning, or also block its calls. */
export type PinMode = "warn" | "block";

interface ToolPinsOptions {
  readonly server: string;
  readonly mode: PinMode;
  /** The server's address without secrets. */
  readonly address: JsonObject;
  /** Persists pins; without a store, they last as long as the toolset. */
  readonly store: LimitedStore | undefined;
  readonly warn: (message: string) => void;
  /** Receives `pinMismatch`. */
  readonly events: CatalogEventEmitter;
}

interface PinMismatch {
  readonly description: string;
  /** The identities whose last list had this mismatch: a server may return different tools to each user. */
  readonly identities: Set<string>;
  /** Not all identities were recorded, so the mismatch lasts until the tool is approved. */
  isPermanent: boolean;
}

/** Further new names are not pinned: a server could list new ones without end. */
const MAX_PINS = 20_000;
/** How many identities are recorded for all mismatches together. */
const MAX_IDENTITIES = 20_000;

/**
 * Trust on first use: pins each tool's description, schema and annotations when first seen, and reports
 * later changes. Descriptions are read by models, so a changed one can carry a prompt injection.
 */
export class ToolPins {
  readonly #options: ToolPinsOptions;
  readonly #key: string;
  #pins: ReadonlyMap<string, Pin> = new Map();
  readonly #mismatches = new Map<string, PinMismatch>();
  #recordedIdentities = 0;
  #storeWasRead = false;
  #hasWarnedUnapproved = false;

  constructor(options: ToolPinsOptions) {
    this.#options = options;
    this.#key = `pins/1/${toStoreKeyPrefix(options.server, options.address)}`;
  }

  /** Compares a list with the pins. New tools are pinned. */
  async check(tools: readonly McpToolInfo[], identity = ""): Promise<void> {
    const needsUpdate = tools.some((tool) => {
      const pin = this.#pins.get(tool.name);
      return pin === undefined || describeDifference(pin, tool) !== undefined;
    });
    // Another process may have approved the change.
    if (needsUpdate) await this.#pinNewTools(tools);
    for (const tool of tools) this.#compare(tool, identity);
  }

  /** Pins these tools as they are now. */
  async approve(tools: readonly McpToolInfo[]): Promise<void> {
    await this.#approve(tools.map((tool) => [tool.name, createPin(tool)]));
  }

  /** Pins snapshots of an agent definition. They have no title and annotations, so these are not compared. */
  async approveSnapshots(tools: readonly McpToolInfo[]): Promise<void> {
    await this.#approve(tools.map((tool) => [tool.name, { ...createPin(tool), annotations: null }]));
  }

  /** Whether a tool must not be offered or called: it changed for any identity, or was never approved. */
  isBlocked(name: string): boolean {
    const isApproved = isApproval(this.#pins.get(name)) && !this.#mismatches.has(name);
    return this.#options.mode === "block" && !isApproved;
  }

  /** Throws `denied` for a tool that `isBlocked`. */
  assertNotBlocked(name: string): void {
    if (!this.isBlocked(name)) return;
    const { server } = this.#options;
    const mismatch = this.#mismatches.get(name);
    const reason =
      mismatch === undefined ? "it was not approved" : `${mismatch.description} since it was approved`;
    const text = `Tool "${name}" of server "${server}" is blocked: ${reason}. Review the tool, then approve it with toolset.approveTools().`;
    throw new McpRuntimeError("denied", text, { server, tool: name });
  }

  #compare(tool: McpToolInfo, identity: string): void {
    const { server, mode, warn, events } = this.#options;
    const { name } = tool;
    const pin = this.#pins.get(name);
    const difference = isApproval(pin) ? describeDifference(pin, tool) : undefined;
    const existing = this.#mismatches.get(name);
    if (difference === undefined) {
      if (existing?.identities.delete(identity) === true) this.#recordedIdentities -= 1;
      if (existing?.identities.size === 0 && !existing.isPermanent) this.#mismatches.delete(name);
      return;
    }
    const { identities, isPermanent } = existing ?? { identities: new Set(), isPermanent: false };
    const mismatch = { description: difference, identities, isPermanent };
    this.#mismatches.set(name, mismatch);
    this.#record(identity, mismatch);
    if (existing?.description === difference) return;
    const isBlocked = mode === "block";
    const consequence = isBlocked ? " It is blocked." : "";
    events.emit("pinMismatch", { tool: name, change: difference, isBlocked, server });
    warn(`Server "${server}", tool "${name}": ${difference} since it was approved.${consequence}`);
  }

  #record(identity: string, mismatch: PinMismatch): void {
    if (mismatch.identities.has(identity)) return;
    if (this.#recordedIdentities >= MAX_IDENTITIES) {
      mismatch.isPermanent = true;
      return;
    }
    mismatch.identities.add(identity);
    this.#recordedIdentities += 1;
  }

  async #pinNewTools(tools: readonly McpToolInfo[]): Promise<void> {
    const stored = await this.#read();
    const pins = new Map([...this.#pins, ...(stored?.pins ?? [])]);
    // A tool whose pin cannot be read looks new: pinning it as it is now would approve a change.
    const newTools = stored?.isComplete === false ? [] : tools.filter(({ name }) => !pins.has(name));
    const capacity = Math.max(0, MAX_PINS - pins.size);
    if (newTools.length > capacity)
      this.#options.warn(
        `Server "${this.#options.server}" has listed more than ${MAX_PINS} different tools: new ones are not approved.`,
      );
    for (const tool of newTools.slice(0, capacity)) pins.set(tool.name, createPin(tool));
    this.#pins = pins;
    this.#warnUnapproved(stored);
    if (stored?.isComplete === true && pins.size > stored.pins.size) await this.#write();
  }

  async #approve(pins: readonly (readonly [string, Pin])[]): Promise<void> {
    const stored = await this.#read();
    this.#pins = new Map([...this.#pins, ...(stored?.pins ?? []), ...pins]);
    for (const [name] of pins) {
      this.#recordedIdentities -= this.#mismatches.get(name)?.identities.size ?? 0;
      this.#mismatches.delete(name);
    }
    if (stored !== undefined) await this.#write();
  }

  /** The stored pins; `undefined` if the store cannot be read, in which case it must not be overwritten. */
  async #read(): Promise<StoredPins | undefined> {
    const { store, mode } = this.#options;
    try {
      const pins = parsePins(await store?.get(this.#key));
      this.#storeWasRead = true;
      return pins;
    } catch (error) {
      // Fail closed: without the stored pins, every tool would look new and be pinned as it is.
      if (mode === "block" && !this.#storeWasRead) throw error;
      this.#warnStoreFailure("read", error);
      return undefined;
    }
  }

  async #write(): Promise<void> {
    try {
      await this.#options.store?.set(this.#key, toStoredPins(this.#pins));
    } catch (error) {
      this.#warnStoreFailure("written", error);
    }
  }

  #warnUnapproved(stored: StoredPins | undefined): void {
    const isUnapproved = ({ pins, isComplete }: StoredPins) =>
      !isComplete || [...pins.values()].some((pin) => !isApproval(pin));
    if (stored === undefined || this.#hasWarnedUnapproved || !isUnapproved(stored)) return;
    this.#hasWarnedUnapproved = true;
    const { server, mode, warn } = this.#options;
    const consequence = mode === "block" ? "are blocked" : "are not compared";
    warn(
      `Server "${server}": stored approvals (pins) are from an older version or cannot be read. Their tools are not approved and ${consequence}. Review them, then approve them with toolset.approveTools().`,
    );
  }

  #warnStoreFailure(operation: "read" | "written", error: unknown): void {
    const { server, warn } = this.#options;
    warn(`The approved tools (pins) of server "${server}" could not be ${operation}: ${String(error)}`);
  }
}

/** SHA-256 hashes of an approved tool. Shorter ones would let a server find another tool with the same hashes. */
interface Pin {
  readonly description: string;
  readonly schema: string;
  /** Includes the title. `null` for snapshots of an agent definition. */
  readonly annotations: string | null;
}

/** Replaces a stored pin that cannot be compared: the tool is not approved, and not pinned as it is now. */
const UNAPPROVED: Pin = { description: "", schema: "", annotations: "" };

function isApproval(pin: Pin | undefined): pin is Pin {
  return pin !== undefined && pin.description !== UNAPPROVED.description;
}

function createPin({ name, title, description = "", inputSchema, annotations = {} }: McpToolInfo): Pin {
  return {
    description: fullHash({ name, description }),
    schema: fullHash(inputSchema),
    annotations: fullHash({ title, annotations }),
  };
}

/** Describes what changed; `undefined` if the tool matches its pin. */
function describeDifference(pin: Pin, tool: McpToolInfo): string | undefined {
  const current = createPin(tool);
  const changed = [
    ...(pin.description === current.description ? [] : ["description"]),
    ...(pin.schema === current.schema ? [] : ["schema"]),
    ...(pin.annotations === null || pin.annotations === current.annotations ? [] : ["title or annotations"]),
  ];
  return changed.length === 0 ? undefined : `its ${changed.join(" and ")} changed`;
}

interface StoredPins {
  readonly pins: ReadonlyMap<string, Pin>;
  /** False if a pin may be missing because an entry has no readable name. */
  readonly isComplete: boolean;
}

const HASH_PATTERN = /^[0-9a-f]{64}$/;

/** An array: tool names such as `__proto__` are not valid object keys in a store. */
function toStoredPins(pins: ReadonlyMap<string, Pin>): unknown {
  return Array.from(pins, ([name, pin]) => [name, pin.description, pin.schema, pin.annotations]);
}

/** Parses stored pins, which are untrusted. A pin that cannot be compared is read as `UNAPPROVED`. */
function parsePins(stored: unknown): StoredPins {
  const items = toArray(stored);
  const pins = new Map(items.flatMap(parsePin));
  return { pins, isComplete: (stored === undefined || Array.isArray(stored)) && pins.size === items.length };
}

function parsePin(item: unknown): [string, Pin][] {
  const [name, description, schema, annotations] = toArray(item);
  if (typeof name !== "string") return [];
  const isValid = isHash(description) && isHash(schema) && (annotations === null || isHash(annotations));
  return [[name, isValid ? { description, schema, annotations } : UNAPPROVED]];
}

/** Older versions stored 12 digits, for which another tool with the same hash can be found. */
function isHash(value: unknown): value is string {
  return typeof value === "string" && HASH_PATTERN.test(value);
}
