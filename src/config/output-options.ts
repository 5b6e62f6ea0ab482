import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { option, type OptionsOf, optionsSchema } from "./parse-options.js";

/** Whether the model sees the blocks of a type, or they are only in the artifact. */
export interface OutputHandling {
  /** Images. @default "content" */
  readonly image?: "content" | "artifact";
  /** Audio. @default "content" */
  readonly audio?: "content" | "artifact";
  /** Embedded resources; a resource link is a line of text and always visible. @default "content" */
  readonly resource?: "content" | "artifact";
}

/** What the model sees of results and failures: options of a toolset and of each server. */
export const OUTPUT_FIELDS = {
  /**
   * Where `structuredContent` is shown to the model, as JSON. "fallback": when there is no other content;
   * "prefer": instead of the text blocks, except for errors; "append": after them, unless one of them is the
   * same JSON; "artifact": never. An empty object or array is only shown when there is no other content. The
   * option of a server definition takes precedence over the toolset's.
   *
   * @default "fallback"
   */
  structuredContent: option.oneOf("fallback", "prefer", "append", "artifact"),
  /**
   * Whether the model sees images, audio and embedded resources ("content"), or they are only in the artifact
   * ("artifact"). The types that a server definition names take precedence over the toolset's.
   *
   * @default { image: "content", audio: "content", resource: "content" }
   */
  outputHandling: optionsSchema<OutputHandling>(
    {
      image: option.oneOf("content", "artifact"),
      audio: option.oneOf("content", "artifact"),
      resource: option.oneOf("content", "artifact"),
    },
    {
      expected: 'an object such as { image: "artifact", audio: "artifact", resource: "artifact" }',
      hint: "text is always shown to the model",
    },
  ),
  /**
   * What a failed tool call does: return an error message to the model, throw, or return the string of your
   * function to the model. The option of a server definition takes precedence over the toolset's.
   *
   * @default "return"
   */
  onToolError: option
    .oneOf("return", "throw")
    .or(option.function<(error: McpRuntimeError) => string | Promise<string>>()),
};

/** What the model sees of results and failures. */
export interface OutputOptions extends OptionsOf<typeof OUTPUT_FIELDS> {}

/** The output options of a server definition. */
export interface ServerOutput extends OutputOptions {
  /** `limits.contentChars`. */
  readonly contentChars?: number;
}
