import { isPlainObject, type JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** What was read of a resource: text, or bytes. One URI may give several, as a folder does. */
export type McpResourceContent = {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly meta?: JsonObject | undefined;
} & (
  | { readonly text: string; readonly blob?: undefined }
  /** Base64, as it came. */
  | { readonly blob: string; readonly text?: undefined }
);

interface ReadOrigin {
  readonly server: string;
  /** What was asked for. */
  readonly uri: string;
}

/** Reads the result of `resources/read`. All or nothing: half a resource is worse than an error. */
export function toResourceContents(result: unknown, { server, uri }: ReadOrigin): McpResourceContent[] {
  const contents = isPlainObject(result) ? result["contents"] : undefined;
  const wrong = (why: string) =>
    new McpRuntimeError(
      "invalid-response",
      `What server "${server}" gave for ${uri} cannot be used: ${why}.`,
      {
        server,
      },
    );
  if (!Array.isArray(contents)) throw wrong("it has no list of contents");
  return contents.map((content: unknown) => {
    if (!isPlainObject(content)) throw wrong("one of its contents is no object");
    const { text, blob, mimeType, uri: own, _meta: meta } = content;
    const about = {
      uri: typeof own === "string" && own !== "" ? own : uri,
      ...(typeof mimeType === "string" ? { mimeType } : {}),
      ...(isPlainObject(meta) ? { meta } : {}),
    };
    if (typeof text === "string") return { ...about, text };
    if (typeof blob === "string") return { ...about, blob };
    throw wrong("one of its contents has neither text nor blob");
  });
}
