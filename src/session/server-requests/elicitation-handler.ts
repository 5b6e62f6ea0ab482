import { z } from "zod";
import type { JsonObject } from "../../json/json.js";
import type {
  FormElicitation,
  FormHandler,
  ServerRequestHandlers,
  UrlElicitation,
  UrlHandler,
} from "../../config/server-request-handlers.js";
import { toReadable } from "../../errors/sanitize-text.js";
import { AnswerError, type Answerer, parseAsked, parseGiven, unusable } from "./server-request-handler.js";
import { fillForm, FORM } from "./form-fields.js";

const message = z.string().transform(toReadable);

const FORM_REQUEST = z.object({ message, requestedSchema: FORM });

const URL_REQUEST = z.object({
  message,
  // A person is going to open it: nothing but a web page.
  url: z.string().refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), {
    error: "expected an address that starts with https:// or http://",
  }),
  // Servers without sessions have none: what they want to be reminded of comes back with the answer.
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
  content: z.undefined({ error: "nothing is filled in where an address is opened" }).optional(),
});

/** What a person is asked, without hidden characters. */
export function parseElicitation(params: JsonObject): FormElicitation | UrlElicitation {
  return params["mode"] === "url"
    ? { mode: "url", ...parseAsked(URL_REQUEST, params) }
    : { mode: "form", ...parseAsked(FORM_REQUEST, params) };
}

/** `elicitation/create`, in the modes that have a handler. */
export function answerElicitation({
  elicitForm,
  elicitUrl,
}: Pick<ServerRequestHandlers, "elicitForm" | "elicitUrl">): Answerer {
  return (params) => {
    const { mode = "form" } = params;
    if (mode === "form" && elicitForm !== undefined) return askForm(params, elicitForm);
    if (mode === "url" && elicitUrl !== undefined) return askUrl(params, elicitUrl);
    throw new AnswerError("invalidParams", "Invalid params: this client has not announced that mode.");
  };
}

function askForm(params: JsonObject, elicit: FormHandler): ReturnType<Answerer> {
  const { message: text, requestedSchema } = parseAsked(FORM_REQUEST, params);
  return async (context) => {
    const given = await elicit({ mode: "form", message: text, requestedSchema }, context);
    const result = parseGiven(FORM_RESULT, "onElicitationRequest", given);
    if (result.action !== "accept") return result;
    const filled = fillForm(requestedSchema, result.content ?? {});
    if ("problem" in filled) throw unusable("onElicitationRequest", filled.problem);
    return { action: "accept", content: filled.content };
  };
}

function askUrl(params: JsonObject, elicit: UrlHandler): ReturnType<Answerer> {
  const request = parseAsked(URL_REQUEST, params);
  return async (context) => {
    const { action } = parseGiven(
      URL_RESULT,
      "onElicitationRequest",
      await elicit({ mode: "url", ...request }, context),
    );
    return { action };
  };
}
