import { z } from "zod";
import type { SamplingHandler } from "../../config/server-request-handlers.js";
import { toReadable } from "../../errors/sanitize-text.js";
import { AnswerError, type Answerer, parseAsked, parseGiven } from "./server-request-handler.js";

const CONTENT = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.enum(["image", "audio"]), data: z.string(), mimeType: z.string() }),
]);

const REQUEST = z.object({
  messages: z.array(
    z.object({
      role: z.enum(["user", "assistant"]),
      content: z
        .union([CONTENT, z.array(CONTENT)])
        .transform((content) => (Array.isArray(content) ? content : [content])),
    }),
  ),
  maxTokens: z.number(),
  systemPrompt: z.string().transform(toReadable).optional(),
  temperature: z.number().optional(),
  stopSequences: z.array(z.string()).optional(),
  includeContext: z.enum(["none", "thisServer", "allServers"]).optional().catch(undefined),
  modelPreferences: z
    .object({
      hints: z.array(z.object({ name: z.string().optional() })).optional(),
      costPriority: z.number().optional(),
      speedPriority: z.number().optional(),
      intelligencePriority: z.number().optional(),
    })
    .optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

const RESULT = z.object({
  model: z.string().min(1),
  content: z.union([z.string().transform((text) => ({ type: "text" as const, text })), CONTENT]),
  stopReason: z.string().optional(),
});

/** `sampling/createMessage`. */
export function answerSampling(sample: SamplingHandler): Answerer {
  return (params) => {
    // We announce no tools for sampling, and whoever sends them all the same must be told.
    if (params["tools"] !== undefined || params["toolChoice"] !== undefined)
      throw new AnswerError("invalidParams", "Invalid params: this client takes no tools for sampling.");
    const request = parseAsked(REQUEST, params);
    return async (context) => {
      const { model, content, stopReason } = parseGiven(
        RESULT,
        "onSamplingRequest",
        await sample(request, context),
      );
      return { role: "assistant", model, content, ...(stopReason === undefined ? {} : { stopReason }) };
    };
  };
}
