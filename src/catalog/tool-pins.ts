import { type JsonObject, toArray } from "../json/json.js";
import type { McpToolInfo } from "../config/server-features.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import type { LimitedStore } from "../stores/driver-store.js";
import type { CatalogEventEmitter } from "./catalog-events.js";
import { toStoreKeyPrefix } from "./tool-list-store.js";
import { fullHash } from "../json-schema/schema-hash.js";

/** What happens when a tool differs from its approved version: log a warning, or also block its calls. */
export type PinMode = "warn" | "block";

/** A kind of item that is pinned. */
export interface PinSubject<Item> {
  readonly noun: "tool" | "skill";
  /** The start of its keys in a store. */
  readonly keyPrefix: string;
  /** How a changed item is approved. */
  readonly approveWith: string;
  /** What the hashes of a pin are about, for messages. */
  readonly fields: Readonly<Record<keyof Pin, string>>;
  readonly idOf: (item: Item) => string;
  readonly toPin: (item: Item) => Pin;
}

interface PinsOptions {
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
 * Trust on first use: pins each item when first seen, and reports later changes. Descriptions are read by models, so a
 * changed one can carry a prompt injection.
 */
export class Pins<Item> {
  readonly #subject: PinSubject<Item>;
  readonly #options: PinsOptions;
  readonly #key: string;
  #pins: ReadonlyMap<string, Pin> = new Map();
  readonly #mismatches = new Map<string, PinMismatch>();
  #recordedIdentities = 0;
  #storeWasRead = false;
  #hasWarnedUnapproved = false;

  constructor(subject: PinSubject<Item>, options: PinsOptions) {
    this.#subject = subject;
    this.#options = options;
    this.#key = `${subject.keyPrefix}/${toStoreKeyPrefix(options.server, options.address)}`;
  }

  get mode(): PinMode {
    return this.#options.mode;
  }

  /** Compares items with the pins. New items are pinned. */
  async check(items: readonly Item[], identity = ""): Promise<void> {
    const needsUpdate = items.some((item) => {
      const pin = this.#pins.get(this.#subject.idOf(item));
      return pin === undefined || this.#describeDifference(pin, item) !== undefined;
    });
    // Another process may have approved the change.
    if (needsUpdate) await this.#pinNewItems(items);
    for (const item of items) this.#compare(item, identity);
  }

  /** Pins these items as they are now. */
  async approve(items: readonly Item[], { toPin } = this.#subject): Promise<void> {
    const stored = await this.#read();
    const approved = new Map(items.map((item) => [this.#subject.idOf(item), toPin(item)]));
    this.#pins = new Map([...this.#pins, ...(stored?.pins ?? []), ...approved]);
    for (const name of approved.keys()) {
      this.#recordedIdentities -= this.#mismatches.get(name)?.identities.size ?? 0;
      this.#mismatches.delete(name);
    }
    if (stored !== undefined) await this.#write();
  }

  /** Whether an item must not be offered or used: it changed for any identity, or was never approved. */
  isBlocked(name: string): boolean {
    const isApproved = isApproval(this.#pins.get(name)) && !this.#mismatches.has(name);
    return this.#options.mode === "block" && !isApproved;
  }

  /** Throws `denied` for an item that `isBlocked`. */
  assertNotBlocked(name: string): void {
    if (!this.isBlocked(name)) return;
    const { server } = this.#options;
    const { noun, approveWith } = this.#subject;
    const mismatch = this.#mismatches.get(name);
    const reason =
      mismatch === undefined ? "it was not approved" : `${mismatch.description} since it was approved`;
    const text = `${toTitleCase(noun)} "${name}" of server "${server}" is blocked: ${reason}. Review the ${noun}, then approve it with ${approveWith}.`;
    throw new McpRuntimeError("denied", text, { server, ...(noun === "tool" ? { tool: name } : {}) });
  }

  #compare(item: Item, identity: string): void {
    const { server, mode, warn, events } = this.#options;
    const { noun, idOf } = this.#subject;
    const name = idOf(item);
    const pin = this.#pins.get(name);
    const difference = isApproval(pin) ? this.#describeDifference(pin, item) : undefined;
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
    const changed = noun === "tool" ? { tool: name } : { tool: undefined, skill: name };
    events.emit("pinMismatch", { ...changed, change: difference, isBlocked, server });
    warn(`Server "${server}", ${noun} "${name}": ${difference} since it was approved.${consequence}`);
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

  async #pinNewItems(items: readonly Item[]): Promise<void> {
    const { noun, idOf, toPin } = this.#subject;
    const stored = await this.#read();
    const pins = new Map([...this.#pins, ...(stored?.pins ?? [])]);
    // An item whose pin cannot be read looks new: pinning its current state would approve a change.
    const newItems = stored?.isComplete === false ? [] : items.filter((item) => !pins.has(idOf(item)));
    const capacity = Math.max(0, MAX_PINS - pins.size);
    if (newItems.length > capacity)
      this.#options.warn(
        `Server "${this.#options.server}" has listed more than ${MAX_PINS} different ${noun}s: new ones are not approved.`,
      );
    for (const item of newItems.slice(0, capacity)) pins.set(idOf(item), toPin(item));
    this.#pins = pins;
    this.#warnUnapproved(stored);
    if (stored?.isComplete === true && pins.size > stored.pins.size) await this.#write();
  }

  /** The stored pins; `undefined` if the store cannot be read, in which case it must not be overwritten. */
  async #read(): Promise<StoredPins | undefined> {
    const { store, mode } = this.#options;
    try {
      const pins = parsePins(await store?.get(this.#key));
      this.#storeWasRead = true;
      return pins;
    } catch (error) {
      // Fail closed: without the stored pins, every tool would look new and be pinned in its current state.
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
    const { noun, approveWith } = this.#subject;
    const consequence = mode === "block" ? "are blocked" : "are not compared";
    warn(
      `Server "${server}": stored approvals (pins) are from an older version or cannot be read. Their ${noun}s are not approved and ${consequence}. Review them, then approve them with ${approveWith}.`,
    );
  }

  #warnStoreFailure(operation: "read" | "written", error: unknown): void {
    const { server, warn } = this.#options;
    const { noun } = this.#subject;
    warn(
      `The approved ${noun}s (pins) of server "${server}" could not be ${operation}: ${printValue(error)}`,
    );
  }

  /** Describes what changed; `undefined` if the item matches its pin. */
  #describeDifference(pin: Pin, item: Item): string | undefined {
    const { fields, toPin } = this.#subject;
    const current = toPin(item);
    const changed = (["description", "schema", "annotations"] as const).filter(
      (key) => pin[key] !== null && pin[key] !== current[key],
    );
    return changed.length === 0
      ? undefined
      : `its ${changed.map((key) => fields[key]).join(" and ")} changed`;
  }
}

/**
 * SHA-256 hashes of an approved item, named for those of a tool. Shorter ones would let a server find another tool with
 * the same hashes.
 */
interface Pin {
  readonly description: string;
  readonly schema: string;
  /** Includes the title. `null` if it is not compared: for snapshots of an agent definition, and for skills. */
  readonly annotations: string | null;
}

/** Replaces a stored pin that cannot be compared: the tool is not approved, and not pinned as it is now. */
const UNAPPROVED: Pin = { description: "", schema: "", annotations: "" };

function isApproval(pin: Pin | undefined): pin is Pin {
  return pin !== undefined && pin.description !== UNAPPROVED.description;
}

const TOOLS: PinSubject<McpToolInfo> = {
  noun: "tool",
  keyPrefix: "pins/1",
  approveWith: "toolset.approveTools()",
  fields: { description: "description", schema: "schema", annotations: "title or annotations" },
  idOf: ({ name }) => name,
  toPin: ({ name, title, description = "", inputSchema, annotations = {} }) => ({
    description: fullHash({ name, description }),
    schema: fullHash(inputSchema),
    annotations: fullHash({ title, annotations }),
  }),
};

/** Pins the description, schema, title and annotations of tools. */
export class ToolPins extends Pins<McpToolInfo> {
  constructor(options: PinsOptions) {
    super(TOOLS, options);
  }

  /** Pins snapshots of an agent definition. They have no title and annotations, so these are not compared. */
  async approveSnapshots(tools: readonly McpToolInfo[]): Promise<void> {
    await this.approve(tools, { ...TOOLS, toPin: (tool) => ({ ...TOOLS.toPin(tool), annotations: null }) });
  }
}

function toTitleCase(noun: string): string {
  return noun.slice(0, 1).toUpperCase() + noun.slice(1);
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
