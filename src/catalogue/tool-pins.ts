import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { schemaHash } from "./schema-hash.js";

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
}

/** What was approved of one tool. */
interface Pin {
  readonly description: string;
  readonly schema: string;
}

/**
 * Remembers what each tool of a server said about itself when it was first seen, which is what
 * somebody approved, and tells when it says something else: a description is read by a model, and can
 * tell it to do things.
 */
export class ToolPins {
  readonly #parts: ToolPinsParts;
  readonly #key: string;
  readonly #pins = new Map<string, Pin>();
  /** What is wrong with which tool, as it was last seen. */
  readonly #changed = new Map<string, string>();
  #loading: Promise<void> | undefined;

  constructor(parts: ToolPinsParts) {
    this.#parts = parts;
    this.#key = `pins/1/${encodeURIComponent(parts.server)}/${schemaHash(parts.address)}`;
  }

  /** Compares a list with what was approved; what is new is approved by being first. */
  async check(tools: readonly McpToolInfo[]): Promise<void> {
    await this.#load();
    const fresh = tools.filter(({ name }) => !this.#pins.has(name));
    for (const tool of tools) this.#compare(tool);
    if (fresh.length > 0) await this.approve(fresh);
  }

  /** From now on these are right as they are. */
  async approve(tools: readonly McpToolInfo[]): Promise<void> {
    await this.#load();
    for (const tool of tools) {
      this.#pins.set(tool.name, pinOf(tool));
      this.#changed.delete(tool.name);
    }
    await this.#save();
  }

  /** Whether a tool may be offered and called. */
  isBlocked(name: string): boolean {
    return this.#parts.mode === "block" && this.#changed.has(name);
  }

  throwIfBlocked(name: string): void {
    if (!this.isBlocked(name)) return;
    const { server } = this.#parts;
    const text = `Tool "${name}" of server "${server}" is not called: ${this.#changed.get(name) ?? ""} since it was approved. Look at it, then approve it with toolset.approveTools().`;
    throw new McpRuntimeError("refused", text, { server, tool: name });
  }

  #compare(tool: McpToolInfo): void {
    const { server, mode, warn } = this.#parts;
    const pin = this.#pins.get(tool.name);
    const now = pinOf(tool);
    const what = [
      ...(pin !== undefined && pin.description !== now.description ? ["description"] : []),
      ...(pin !== undefined && pin.schema !== now.schema ? ["schema"] : []),
    ];
    if (what.length === 0) {
      this.#changed.delete(tool.name);
      return;
    }
    const text = `its ${what.join(" and ")} changed`;
    if (this.#changed.get(tool.name) === text) return;
    this.#changed.set(tool.name, text);
    const then = mode === "block" ? " It is blocked." : "";
    warn(`Server "${server}", tool "${tool.name}": ${text} since it was approved.${then}`);
  }

  #load(): Promise<void> {
    this.#loading ??= this.#read();
    return this.#loading;
  }

  async #read(): Promise<void> {
    const { store } = this.#parts;
    if (store === undefined) return;
    try {
      const stored = await store.get(this.#key);
      for (const [name, pin] of Object.entries(isJsonObject(stored) ? stored : {})) {
        if (isPin(pin)) this.#pins.set(name, pin);
      }
    } catch (error) {
      // Without what was approved nobody can tell a change: blocking would then let everything through.
      if (this.#parts.mode === "block") {
        this.#loading = undefined;
        throw error;
      }
      this.#warnOfStore(error);
    }
  }

  async #save(): Promise<void> {
    const { store } = this.#parts;
    try {
      await store?.set(this.#key, Object.fromEntries(this.#pins));
    } catch (error) {
      this.#warnOfStore(error);
    }
  }

  #warnOfStore(error: unknown): void {
    this.#parts.warn(
      `What was approved of server "${this.#parts.server}" could not be kept: ${String(error)}`,
    );
  }
}

function pinOf({ name, description = "", inputSchema }: McpToolInfo): Pin {
  return { description: schemaHash({ name, description }), schema: schemaHash(inputSchema) };
}

function isPin(value: unknown): value is Pin {
  return (
    isJsonObject(value) && typeof value["description"] === "string" && typeof value["schema"] === "string"
  );
}
