import type { JsonObject } from "../json/json.js";

/** Who asks, and for how long the answer is wanted. */
export interface ServerRequestContext {
  readonly server: string;
  /** Whose session it is, where a server has users with credentials of their own. */
  readonly identity?: string | undefined;
  /** Aborted when nobody waits any more: the server took its request back, or the session is over. */
  readonly signal: AbortSignal;
}

type Handler<Request, Answer> = (request: Request, context: ServerRequestContext) => Answer | Promise<Answer>;

/** A folder or file that the server may work in. */
export interface Root {
  /** `file://…`, as text or as given by `pathToFileURL`. */
  readonly uri: string | URL;
  readonly name?: string | undefined;
}

/** A list, or a function that is asked each time. */
export type RootsOption =
  | readonly Root[]
  | ((context: ServerRequestContext) => readonly Root[] | Promise<readonly Root[]>);

/** One piece of a message. LangChain's content blocks have the same shape. */
export type SamplingContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string };

/** No interface: LangChain's models take it as it is. */
export type SamplingMessage = {
  readonly role: "user" | "assistant";
  readonly content: SamplingContent[];
};

/** The server asks for the answer of a model. What it prefers is a wish, not an order. */
export interface SamplingRequest {
  readonly messages: SamplingMessage[];
  readonly maxTokens: number;
  readonly systemPrompt?: string | undefined;
  readonly temperature?: number | undefined;
  readonly stopSequences?: string[] | undefined;
  readonly includeContext?: "none" | "thisServer" | "allServers" | undefined;
  readonly modelPreferences?:
    | {
        readonly hints?: { readonly name?: string | undefined }[] | undefined;
        readonly costPriority?: number | undefined;
        readonly speedPriority?: number | undefined;
        readonly intelligencePriority?: number | undefined;
      }
    | undefined;
  readonly metadata?: JsonObject | undefined;
}

export interface SamplingResult {
  /** The name of the model that answered. */
  readonly model: string;
  readonly content: string | SamplingContent;
  /** `endTurn`, `stopSequence`, `maxTokens`, or a word of the model's own. */
  readonly stopReason?: string | undefined;
}

/** The server asks a person to fill in a form. */
export interface FormElicitation {
  readonly mode: "form";
  readonly message: string;
  /** A JSON Schema: an object of texts, numbers, booleans, choices and lists of choices, not nested. */
  readonly requestedSchema: FormSchema;
}

export interface FormSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[] | undefined;
}

/** The server asks a person to open an address, for what must not pass through us: a login, a payment. */
export interface UrlElicitation {
  readonly mode: "url";
  readonly message: string;
  readonly url: string;
  /** The server names it again in `notifications/elicitation/complete`; servers of 2026-07-28 have none. */
  readonly elicitationId?: string | undefined;
}

export type FormValue = string | number | boolean | readonly string[];

export type UrlElicitationResult = { readonly action: "accept" | "decline" | "cancel" };
/** What is left out of an accepted form is filled in with the defaults of its schema. */
export type FormElicitationResult =
  | {
      readonly action: "accept";
      readonly content?: Readonly<Record<string, FormValue | undefined>> | undefined;
    }
  | { readonly action: "decline" | "cancel" };

export type SamplingHandler = Handler<SamplingRequest, SamplingResult>;
export type FormHandler = Handler<FormElicitation, FormElicitationResult>;
export type UrlHandler = Handler<UrlElicitation, UrlElicitationResult>;

/** One function for both modes, or one for each mode that is wanted. */
export type ElicitationOption =
  | Handler<FormElicitation | UrlElicitation, FormElicitationResult>
  | { readonly form?: FormHandler | undefined; readonly url?: UrlHandler | undefined };

/** Who answers what a server asks. What is not here is neither announced nor answered. */
export interface ServerRequestHandlers {
  readonly roots?: RootsOption | undefined;
  readonly sample?: SamplingHandler | undefined;
  readonly elicitForm?: FormHandler | undefined;
  readonly elicitUrl?: UrlHandler | undefined;
}
