import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import type { CatalogEvents } from "./catalog-events.js";
import { differenceOf, parsePins, type Pin, pinOf, toStoredPins } from "./pin.js";
import { serverPlace } from "./store-key-prefix.js";

/** What happens when a tool is no longer what was approved: it is told, or also no longer called. */
export type PinMode = "warn" | "block";

interface ToolPinsParts {
  readonly server: string;
  readonly mode: PinMode;
  /** Where the server is, without anything secret. */
  readonly address: JsonObject;
  /** Remembers beyond this process; without one, pins last as long as the toolset. */
  readonly store: KeyValueStore | undefined;
  readonly warn: (message: string) => void;
  readonly onBroken?: ((event: Omit<CatalogEvents["pinMismatch"], "server">) => void) | undefined;
}

interface Change {
  readonly text: string;
  /** Whose lists had it when they were last seen: a server may show each user another face. */
  readonly seenBy: Set<string>;
}

/** More names than this are not taken on trust: a server could list new ones for ever. */
const MOST_PINS = 20_000;
const MOST_WITNESSES = 1_000;

/**
 * Remembers what each tool of a server said about itself when it was first seen, which is what
 * somebody approved, and tells when it says something else: a description is read by a model, and can
 * tell it to do things.
 */
export class ToolPins {
  readonly #parts: ToolPinsParts;
  readonly #key: string;
  #pins: ReadonlyMap<string, Pin> = new Map();
  readonly #changes = new Map<string, Change>();
  #hasRead = false;

  constructor(parts: ToolPinsParts) {
    this.#parts = parts;
    this.#key = `pins/1/${serverPlace(parts.server, parts.address)}`;
  }

  /** Compares somebody's list with what was approved; what is new is approved by being first. */
  async check(tools: readonly McpToolInfo[], identity = ""): Promise<void> {
    const isOdd = tools.some((tool) => {
      const pin = this.#pins.get(tool.name);
      return pin === undefined || differenceOf(pin, tool) !== undefined;
    });
    // Another process may have approved it since.
    if (isOdd) await this.#takeFirst(tools);
    for (const tool of tools) this.#compare(tool, identity);
  }

  /** From now on these are right as they are. */
  async approve(tools: readonly McpToolInfo[]): Promise<void> {
    await this.#approve(tools.map((tool) => [tool.name, pinOf(tool)]));
  }

  /** As they were saved with an agent: without title and annotations, which are then not compared. */
  async approveSaved(tools: readonly McpToolInfo[]): Promise<void> {
    await this.#approve(tools.map((tool) => [tool.name, { ...pinOf(tool), annotations: undefined }]));
  }

  /** Whether a tool may be offered and called, by what was last seen of it, whoever saw it. */
  isBlocked(name: string): boolean {
    return this.#parts.mode === "block" && (this.#changes.has(name) || !this.#pins.has(name));
  }

  throwIfBlocked(name: string): void {
    if (!this.isBlocked(name)) return;
    const { server } = this.#parts;
    const what = this.#changes.get(name)?.text ?? "nobody has looked at it";
    const text = `Tool "${name}" of server "${server}" is not called: ${what} since it was approved. Look at it, then approve it with toolset.approveTools().`;
    throw new McpRuntimeError("denied", text, { server, tool: name });
  }

  #compare(tool: McpToolInfo, identity: string): void {
    const { server, mode, warn, onBroken } = this.#parts;
    const { name } = tool;
    const pin = this.#pins.get(name);
    const text = pin && differenceOf(pin, tool);
    const known = this.#changes.get(name);
    if (text === undefined) {
      known?.seenBy.delete(identity);
      if (known?.seenBy.size === 0) this.#changes.delete(name);
      return;
    }
    const seenBy = known?.seenBy ?? new Set();
    if (seenBy.size < MOST_WITNESSES) seenBy.add(identity);
    this.#changes.set(name, { text, seenBy });
    if (known?.text === text) return;
    const isBlocked = mode === "block";
    const then = isBlocked ? " It is blocked." : "";
    onBroken?.({ tool: name, change: text, isBlocked });
    warn(`Server "${server}", tool "${name}": ${text} since it was approved.${then}`);
  }

  async #takeFirst(tools: readonly McpToolInfo[]): Promise<void> {
    const stored = await this.#read();
    const known = new Map([...this.#pins, ...(stored ?? [])]);
    const fresh = tools.filter(({ name }) => !known.has(name));
    const room = Math.max(0, MOST_PINS - known.size);
    if (fresh.length > room)
      this.#parts.warn(
        `Server "${this.#parts.server}" has had more than ${MOST_PINS} tools: new ones are not approved.`,
      );
    for (const tool of fresh.slice(0, room)) known.set(tool.name, pinOf(tool));
    this.#pins = known;
    if (stored !== undefined && known.size > stored.size) await this.#write();
  }

  async #approve(pins: readonly (readonly [string, Pin])[]): Promise<void> {
    const stored = await this.#read();
    this.#pins = new Map([...this.#pins, ...(stored ?? []), ...pins]);
    for (const [name] of pins) this.#changes.delete(name);
    if (stored !== undefined) await this.#write();
  }

  /** What all have approved; nothing when it cannot be read, and then nothing is written over it. */
  async #read(): Promise<ReadonlyMap<string, Pin> | undefined> {
    const { store, mode } = this.#parts;
    try {
      const pins = parsePins(await store?.get(this.#key));
      this.#hasRead = true;
      return pins;
    } catch (error) {
      // Without what was approved nobody can tell a change: blocking would then let everything through.
      if (mode === "block" && !this.#hasRead) throw error;
      this.#warnOfStore("read", error);
      return undefined;
    }
  }

  async #write(): Promise<void> {
    try {
      await this.#parts.store?.set(this.#key, toStoredPins(this.#pins));
    } catch (error) {
      this.#warnOfStore("kept", error);
    }
  }

  #warnOfStore(what: "read" | "kept", error: unknown): void {
    const { server, warn } = this.#parts;
    warn(`What was approved of server "${server}" could not be ${what}: ${String(error)}`);
  }
}
