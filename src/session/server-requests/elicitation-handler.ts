import { z } from "zod";
import type {
  FormElicitation,
  FormHandler,
  ServerRequestHandlers,
  UrlElicitation,
  UrlHandler,
} from "../../config/server-request-handlers.js";
import { stripHiddenCharacters } from "../../errors/sanitize-text.js";
import type { JsonObject } from "../../json/json.js";
import { applyFormDefaults, FORM } from "./form-fields.js";
import {
  HandlerError,
  invalidResultError,
  parseHandlerResult,
  parseRequest,
  type ServerRequestHandler,
} from "./server-request-handler.js";

const message = z.string().transform(stripHiddenCharacters);

const FORM_REQUEST = z.object({ message, requestedSchema: FORM });

const URL_REQUEST = z.object({
  message,
  // A person opens the URL, so only web pages are allowed.
  url: z.string().refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), {
    error: "expected a URL starting with https:// or http://",
  }),
  // Not sent in the modern era, where the state is in requestState.
  elicitationId: z.string().optional(),
});

const FORM_RESULT = z.discriminatedUnion("action", [
  z.object({
    action: z.literal("accept"),
    content: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional())
      .optional(),
  }),
  z.object({ action: z.enum(["decline", "cancel"]) }),
]);

const URL_RESULT = z.object({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.undefined({ error: "not allowed for a URL elicitation" }).optional(),
});

/** Parses an elicitation request and removes hidden characters from what a person sees. */
export function parseElicitation(params: JsonObject): FormElicitation | UrlElicitation {
  return params["mode"] === "url"
    ? { mode: "url", ...parseRequest(URL_REQUEST, params) }
    : { mode: "form", ...parseRequest(FORM_REQUEST, params) };
}

/** Handles `elicitation/create` in the modes that have a handler. */
export function createElicitationHandler({
  elicitForm,
  elicitUrl,
}: Pick<ServerRequestHandlers, "elicitForm" | "elicitUrl">): ServerRequestHandler {
  return (params) => {
    const { mode = "form" } = params;
    if (mode === "form" && elicitForm !== undefined) return createFormHandler(params, elicitForm);
    if (mode === "url" && elicitUrl !== undefined) return createUrlHandler(params, elicitUrl);
    throw new HandlerError("invalidParams", "Invalid params: this client did not declare that mode.");
  };
}

function createFormHandler(params: JsonObject, elicit: FormHandler): ReturnType<ServerRequestHandler> {
  const { message: text, requestedSchema } = parseRequest(FORM_REQUEST, params);
  return async (context) => {
    const handlerResult = await elicit({ mode: "form", message: text, requestedSchema }, context);
    const result = parseHandlerResult(FORM_RESULT, "onElicitationRequest", handlerResult);
    if (result.action !== "accept") return result;
    const filled = applyFormDefaults(requestedSchema, result.content ?? {});
    if ("problem" in filled) throw invalidResultError("onElicitationRequest", filled.problem);
    return { action: "accept", content: filled.content };
  };
}

function createUrlHandler(params: JsonObject, elicit: UrlHandler): ReturnType<ServerRequestHandler> {
  const request = parseRequest(URL_REQUEST, params);
  return async (context) => {
    const { action } = parseHandlerResult(
      URL_RESULT,
      "onElicitationRequest",
      await elicit({ mode: "url", ...request }, context),
    );
    return { action };
  };
}
