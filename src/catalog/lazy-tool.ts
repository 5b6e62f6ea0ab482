import type { McpToolInfo } from "../config/tool-info.js";

/**
 * A tool of which only the name is known, until somebody wants more: whatever else is asked of it, it
 * is read first. From outside it is no different from the tool that `read` gives; it throws what
 * `read` throws, each time.
 */
export function lateTool(name: string, read: () => McpToolInfo): McpToolInfo {
  return new Proxy({ name } as McpToolInfo, new ReadFirst(read));
}

/** A proxy answers for its target, so what was read goes there, and is frozen there. */
class ReadFirst implements ProxyHandler<McpToolInfo> {
  readonly #read: () => McpToolInfo;
  #isRead = false;

  constructor(read: () => McpToolInfo) {
    this.#read = read;
  }

  get(tool: McpToolInfo, key: PropertyKey): unknown {
    return Reflect.get(key === "name" ? tool : this.#whole(tool), key);
  }

  has(tool: McpToolInfo, key: PropertyKey): boolean {
    return Reflect.has(this.#whole(tool), key);
  }

  ownKeys(tool: McpToolInfo): (string | symbol)[] {
    return Reflect.ownKeys(this.#whole(tool));
  }

  getOwnPropertyDescriptor(tool: McpToolInfo, key: PropertyKey): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.#whole(tool), key);
  }

  isExtensible(tool: McpToolInfo): boolean {
    return Reflect.isExtensible(this.#whole(tool));
  }

  preventExtensions(tool: McpToolInfo): boolean {
    return Reflect.preventExtensions(this.#whole(tool));
  }

  /** Nobody changes a tool, read or not. */
  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  setPrototypeOf(): boolean {
    return false;
  }

  #whole(tool: McpToolInfo): McpToolInfo {
    if (!this.#isRead) {
      Object.freeze(Object.assign(tool, this.#read()));
      this.#isRead = true;
    }
    return tool;
  }
}
