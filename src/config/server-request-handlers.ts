import type { JsonObject } from "../json/json.js";

/** The context of a server request, passed to its handler. */
export interface ServerRequestContext {
  /** The name of the server. */
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
  /** The display name. */
  readonly name?: string | undefined;
}

/**
 * The roots, or a function that is called for each `roots/list` request. When a function returns others than
 * before, call `sendRootsListChanged` of the client.
 */
export type RootsOption =
  | readonly Root[]
  | ((context: ServerRequestContext) => readonly Root[] | Promise<readonly Root[]>);

/** A content block of a message, in the shape of LangChain's content blocks. */
export type SamplingContent =
  | {
      /** The kind of the block. */
      readonly type: "text";
      /** The text, as plain text or Markdown. */
      readonly text: string;
    }
  | {
      /** The kind of the block. */
      readonly type: "image" | "audio";
      /** The content, encoded as base64. */
      readonly data: string;
      /** The format of the content: `image/png`. */
      readonly mimeType: string;
    };

/** A message. A type alias instead of an interface, so that it is assignable to LangChain's message types. */
export type SamplingMessage = {
  /** Who the message is from. */
  readonly role: "user" | "assistant";
  /** The blocks of the message, in their order. */
  readonly content: SamplingContent[];
};

/** A `sampling/createMessage` request. Its model preferences are advisory. */
export interface SamplingRequest {
  /** The conversation so far, oldest first. */
  readonly messages: SamplingMessage[];
  /** The maximum number of tokens of the response. */
  readonly maxTokens: number;
  /** The system prompt that the server suggests. */
  readonly systemPrompt?: string | undefined;
  /** The temperature that the server suggests. */
  readonly temperature?: number | undefined;
  /** Strings at which the model should stop. */
  readonly stopSequences?: string[] | undefined;
  /** Whose context the server would like to have included. */
  readonly includeContext?: "none" | "thisServer" | "allServers" | undefined;
  /** Which models the server prefers: names, and priorities from 0 to 1. */
  readonly modelPreferences?:
    | {
        readonly hints?: { readonly name?: string | undefined }[] | undefined;
        readonly costPriority?: number | undefined;
        readonly speedPriority?: number | undefined;
        readonly intelligencePriority?: number | undefined;
      }
    | undefined;
  /** Parameters for a specific provider, as sent by the server. */
  readonly metadata?: JsonObject | undefined;
}

/** The response of a model to a `SamplingRequest`. */
export interface SamplingResult {
  /** The name of the model. */
  readonly model: string;
  /** The response of the model. A string is a text block. */
  readonly content: string | SamplingContent;
  /** `endTurn`, `stopSequence`, `maxTokens`, or a provider-specific reason. */
  readonly stopReason?: string | undefined;
}

/** A request for user input through a form. */
export interface FormElicitation {
  /** Distinguishes it from a `UrlElicitation`. */
  readonly mode: "form";
  /** What the server asks for, for the user. */
  readonly message: string;
  /** A flat JSON Schema: an object of strings, numbers, booleans, enums and arrays of enums. */
  readonly requestedSchema: FormSchema;
}

/** The schema of a form. */
export interface FormSchema {
  /** The answers are an object. */
  readonly type: "object";
  /** The JSON Schemas of the fields, by name. */
  readonly properties: Readonly<Record<string, JsonObject>>;
  /**
   * The names of the fields that need an answer.
   *
   * @default []
   */
  readonly required?: readonly string[] | undefined;
}

/**
 * A request that the user opens a URL, for data that must not pass through the client: a login, a payment.
 */
export interface UrlElicitation {
  /** Distinguishes it from a `FormElicitation`. */
  readonly mode: "url";
  /** Why the URL should be opened, for the user. */
  readonly message: string;
  /** The URL to open, after the user has agreed. */
  readonly url: string;
  /** Repeated in `notifications/elicitation/complete`; not sent by servers of revision 2026-07-28. */
  readonly elicitationId?: string | undefined;
}

/** The value of a form field. */
export type FormValue = string | number | boolean | readonly string[];

/** The user's response to a `UrlElicitation`. */
export type UrlElicitationResult = {
  /** Whether the user agreed to open the URL, refused, or closed the request without an answer. */
  readonly action: "accept" | "decline" | "cancel";
};
/**
 * The user's response to a `FormElicitation`. Missing fields are filled in with the defaults of the schema.
 */
export type FormElicitationResult =
  | {
      /** The user has submitted the form. */
      readonly action: "accept";
      /** The answers, by field. */
      readonly content?: Readonly<Record<string, FormValue | undefined>> | undefined;
    }
  | {
      /** The user has refused, or closed the form without an answer. */
      readonly action: "decline" | "cancel";
    };

/** Handles sampling requests. */
export type SamplingHandler = Handler<SamplingRequest, SamplingResult>;
/** Handles form elicitation. */
export type FormHandler = Handler<FormElicitation, FormElicitationResult>;
/** Handles URL elicitation. */
export type UrlHandler = Handler<UrlElicitation, UrlElicitationResult>;

/** The settings of protocol extensions, by their identifiers: `{ "io.modelcontextprotocol/ui": { … } }`. */
export type ExtensionsOption = Readonly<Record<string, JsonObject>>;

/** One handler for both modes, or a handler per supported mode. */
export type ElicitationOption =
  | Handler<FormElicitation | UrlElicitation, FormElicitationResult>
  | {
      /** Handles forms. Without it, they are not offered to the server. */
      readonly form?: FormHandler | undefined;
      /** Handles URLs. Without it, they are not offered to the server. */
      readonly url?: UrlHandler | undefined;
    };

/** The handlers of server requests. Capabilities without a handler are not advertised. */
export interface ServerRequestHandlers {
  /** The extensions that are advertised, by their identifiers. */
  readonly extensions?: ExtensionsOption | undefined;
  readonly roots?: RootsOption | undefined;
  readonly sample?: SamplingHandler | undefined;
  readonly elicitForm?: FormHandler | undefined;
  readonly elicitUrl?: UrlHandler | undefined;
}
