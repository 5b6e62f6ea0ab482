import type { McpResourceInfo, McpResourceTemplateInfo } from "../config/resource-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { RequestOptions } from "./call-options.js";
import type { ClientLife } from "./client-lifecycle.js";
import { RequestTrace } from "./request-context.js";
import { LIST_KINDS } from "./list-kinds.js";
import type { Requester } from "./request-runner.js";
import { type McpResourceContent, toResourceContents } from "./resource-content.js";
import type { ServerLists } from "./lists.js";

interface ServerResourcesParts {
  readonly server: string;
  readonly life: ClientLife;
  readonly requester: Requester;
  readonly lists: ServerLists;
}

/** Not discovery: it is done for whoever asks, and as that user. */
const USE = { isIdempotent: true, capability: "resources", purpose: "call" } as const;

/** The resources of one server, and who wants to hear of their updates. */
export class ServerResources {
  readonly #parts: ServerResourcesParts;

  constructor(parts: ServerResourcesParts) {
    this.#parts = parts;
  }

  list(options: RequestOptions): Promise<McpResourceInfo[]> {
    return this.#parts.lists.ifAny(LIST_KINDS.resources, options);
  }

  listTemplates(options: RequestOptions): Promise<McpResourceTemplateInfo[]> {
    return this.#parts.lists.ifAny(LIST_KINDS.resourceTemplates, options);
  }

  async read(uri: string, options: RequestOptions): Promise<McpResourceContent[]> {
    const { server, requester } = this.#parts;
    this.#check(uri);
    const result = await requester.operation(options, (send) => send("resources/read", { uri }, USE));
    return toResourceContents(result, { server, uri });
  }

  /** Wanted from the moment it is asked for: a session that is opened meanwhile is told. */
  async subscribe(uri: string, options: RequestOptions): Promise<void> {
    const { life, requester } = this.#parts;
    this.#check(uri);
    const identity = requester.identityOf(options, USE);
    const trace = new RequestTrace();
    const forget = life.wishes.resources.add(identity, uri, { trace, context: options.context });
    try {
      await requester.operation(options, (send) => send("resources/subscribe", { uri }, { ...USE, trace }));
    } catch (error) {
      forget();
      throw error;
    }
    // Who has subscribed counts on hearing what comes from now on.
    await life.listenIfWanted(identity);
  }

  async unsubscribe(uri: string, options: RequestOptions): Promise<void> {
    const { life, requester } = this.#parts;
    this.#check(uri);
    life.wishes.resources.remove(requester.identityOf(options, USE), uri);
    await requester.operation(options, (send) => send("resources/unsubscribe", { uri }, USE));
  }

  #check(uri: unknown): void {
    const { server } = this.#parts;
    if (typeof uri === "string" && uri !== "") return;
    throw new McpRuntimeError("invalid-config", "A resource is named by its URI, a text.", { server });
  }
}
