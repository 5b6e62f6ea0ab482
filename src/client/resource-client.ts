import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { RequestOptions } from "./call-options.js";
import type { RequestContext } from "./request-context.js";
import { IDEMPOTENT_CALL, type RequestDependencies } from "./request-runner.js";
import type { ResourceSubscription } from "./restored-session-state.js";

/** One content of a resource: text or binary. One URI may return several, for example for a folder. */
export type McpResourceContent = {
  /** The URI of this content; the requested one if the server sent none. */
  readonly uri: string;
  /** The media type, if the server sent one, without hidden characters. */
  readonly mimeType?: string | undefined;
  /** `_meta` of the content. */
  readonly meta?: JsonObject | undefined;
} & (
  | {
      /** Text content. */
      readonly text: string;
      /** Not with `text`. */
      readonly blob?: undefined;
    }
  | {
      /** Binary content in base64, as received. */
      readonly blob: string;
      /** Not with `blob`. */
      readonly text?: undefined;
    }
);

const RESOURCE_CALL = { ...IDEMPOTENT_CALL, capability: "resources" } as const;

/** Reads a resource of one server. */
export async function readResource(
  { server, runner }: RequestDependencies,
  uri: string,
  options: RequestOptions,
): Promise<McpResourceContent[]> {
  assertUri(server, uri);
  return runner.runOperation(options, async (send) =>
    toResourceContents(await send("resources/read", { uri }, RESOURCE_CALL), { server, uri }),
  );
}

/** Registered before the request is sent: a session that is opened meanwhile restores it. */
export async function subscribeResource(
  { server, lifecycle, runner }: RequestDependencies,
  uri: string,
  options: RequestOptions,
): Promise<void> {
  assertUri(server, uri);
  const identity = runner.identityOf(options, RESOURCE_CALL);
  const subscription: ResourceSubscription = { request: undefined, context: options.context };
  const undo = lifecycle.sessionState.subscriptions.add(identity, uri, subscription);
  const onCreated = (request: RequestContext) => {
    subscription.request = request;
  };
  try {
    await runner.runOperation(options, (send) =>
      send("resources/subscribe", { uri }, { ...RESOURCE_CALL, onCreated }),
    );
  } catch (error) {
    undo();
    throw error;
  }
  // From here on, the subscriber relies on receiving updates.
  await lifecycle.listenIfNeeded(identity);
}

export async function unsubscribeResource(
  { server, lifecycle, runner }: RequestDependencies,
  uri: string,
  options: RequestOptions,
): Promise<void> {
  assertUri(server, uri);
  lifecycle.sessionState.subscriptions.remove(runner.identityOf(options, RESOURCE_CALL), uri);
  await runner.runOperation(options, (send) => send("resources/unsubscribe", { uri }, RESOURCE_CALL));
}

function assertUri(server: string, uri: unknown): void {
  if (typeof uri === "string" && uri !== "") return;
  const text = "Expected the URI of a resource, a non-empty string.";
  throw new McpRuntimeError("invalid-config", text, { server });
}

/** Parses the result of `resources/read` for a URI. All or nothing: a partial resource is worse than an error. */
function toResourceContents(
  result: unknown,
  { server, uri }: { server: string; uri: string },
): McpResourceContent[] {
  const contents = isPlainObject(result) ? result["contents"] : undefined;
  const invalidContents = (reason: string) => {
    const text = `The contents of ${uri} from server "${server}" are invalid: ${reason}.`;
    return new McpRuntimeError("invalid-response", text, { server });
  };
  if (!Array.isArray(contents)) throw invalidContents("expected an array of contents");
  return contents.map((content: unknown) => {
    if (!isPlainObject(content)) throw invalidContents("a content is not an object");
    const { text, blob, mimeType, uri: contentUri, _meta: meta } = content;
    const hasUri = typeof contentUri === "string" && contentUri !== "";
    // As in lists: it cannot be changed, because it may be read in turn.
    if (hasUri && contentUri !== uri && stripHiddenCharacters(contentUri) !== contentUri)
      throw invalidContents("a content has hidden characters in its URI");
    const common = {
      uri: hasUri ? contentUri : uri,
      ...(typeof mimeType === "string" ? { mimeType: stripHiddenCharacters(mimeType) } : {}),
      ...(isPlainObject(meta) ? { meta } : {}),
    };
    if (typeof text === "string") return { ...common, text };
    if (typeof blob === "string") return { ...common, blob };
    throw invalidContents("a content has neither text nor blob");
  });
}
