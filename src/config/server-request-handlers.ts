import type { JsonObject } from "../json/json.js";

/** The context of a server request, passed to its handler. */
export interface ServerRequestContext {
  readonly server: string;
  /** The identity of the session, for servers with credentials per caller. */
  readonly identity?: string | undefined;
  /** Aborted when the server cancels its request or the session is closed. */
  readonly signal: AbortSignal;
}

type Handler<Request, Result> = (request: Request, context: ServerRequestContext) => Result | Promise<Result>;

/** A folder or file that the server may work in. */
export interface Root {
  /** `file://…`, as a string or as returned by `pathToFileURL`. */
  readonly uri: string | URL;
  readonly name?: string | undefined;
}

/** The roots, or a function that is called for each `roots/list` request. */
export type RootsOption =
  | readonly Root[]
  | ((context: ServerRequestContext) => readonly Root[] | Promise<readonly Root[]>);

/** A content block of a message, in the shape of LangChain's content blocks. */
export type SamplingContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string };

/** A message. A type alias instead of an interface, so that it is assignable to LangChain's message types. */
export type SamplingMessage = {
  readonly role: "user" | "assistant";
  readonly content: SamplingContent[];
};

/** A `sampling/createMessage` request. Its model preferences are advisory. */
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

/** The response of a model to a `SamplingRequest`. */
export interface SamplingResult {
  /** The name of the model. */
  readonly model: string;
  readonly content: string | SamplingContent;
  /** `endTurn`, `stopSequence`, `maxTokens`, or a provider-specific reason. */
  readonly stopReason?: string | undefined;
}

/** A request for user input through a form. */
export interface FormElicitation {
  readonly mode: "form";
  readonly message: string;
  /** A flat JSON Schema: an object of strings, numbers, booleans, enums and arrays of enums. */
  readonly requestedSchema: FormSchema;
}

/** The schema of a form. */
export interface FormSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[] | undefined;
}

/**
 * A request that the user opens a URL, for data that must not pass through the client: a login, a payment.
 */
export interface UrlElicitation {
  readonly mode: "url";
  readonly message: string;
  readonly url: string;
  /** Repeated in `notifications/elicitation/complete`; not sent by servers of revision 2026-07-28. */
  readonly elicitationId?: string | undefined;
}

/** The value of a form field. */
export type FormValue = string | number | boolean | readonly string[];

/** The user's response to a `UrlElicitation`. */
export type UrlElicitationResult = { readonly action: "accept" | "decline" | "cancel" };
/**
 * The user's response to a `FormElicitation`. Missing fields are filled in with the defaults of the schema.
 */
export type FormElicitationResult =
  | {
      readonly action: "accept";
      readonly content?: Readonly<Record<string, FormValue | undefined>> | undefined;
    }
  | { readonly action: "decline" | "cancel" };

/** Handles sampling requests. */
export type SamplingHandler = Handler<SamplingRequest, SamplingResult>;
/** Handles form elicitation. */
export type FormHandler = Handler<FormElicitation, FormElicitationResult>;
/** Handles URL elicitation. */
export type UrlHandler = Handler<UrlElicitation, UrlElicitationResult>;

/** One handler for both modes, or a handler per supported mode. */
export type ElicitationOption =
  | Handler<FormElicitation | UrlElicitation, FormElicitationResult>
  | { readonly form?: FormHandler | undefined; readonly url?: UrlHandler | undefined };

/** The handlers of server requests. Capabilities without a handler are not advertised. */
export interface ServerRequestHandlers {
  readonly roots?: RootsOption | undefined;
  readonly sample?: SamplingHandler | undefined;
  readonly elicitForm?: FormHandler | undefined;
  readonly elicitUrl?: UrlHandler | undefined;
}
