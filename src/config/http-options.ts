import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { z } from "zod";
import { addIssueAt, type IssueContext, option, type OptionsOf, optionsSchema } from "./parse-options.js";
import { redactUrl } from "../errors/redaction.js";
import { describeValue } from "../json/describe-value.js";

/** A URL with one of these protocols. Error messages show the received URL without its secrets. */
export function urlSchema(...protocols: string[]) {
  const expected = `a URL starting with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`;
  return option.opaque<string | URL>(expected, isStringOrUrl).transform((value, context) => {
    const url = URL.canParse(String(value)) ? new URL(value) : undefined;
    if (USER_PLACEHOLDER.test(url?.username ?? "") || USER_PLACEHOLDER.test(url?.password ?? ""))
      context.addIssue(`has a user or password that ${MADE_FROM_MISSING}`);
    if (url !== undefined && protocols.includes(url.protocol)) return url;
    context.addIssue(`expected ${expected}, got ${describeUrl(value, protocols)}`);
    return z.NEVER;
  });
}

function isStringOrUrl(value: unknown): value is string | URL {
  return typeof value === "string" || value instanceof URL;
}

const NOT_A_URL = "a string that is not a URL (not shown, because it may be a secret)";

function describeUrl(value: string | URL, protocols: readonly string[]): string {
  const shown = redactUrl(value);
  if (shown !== undefined) return `"${shown}"`;
  const suggestion = redactUrl(addProtocol(String(value), protocols));
  const host = suggestion === undefined ? "" : new URL(suggestion).host;
  const isHost = HOST.test(host) && String(value).replace(USER_INFO, "").startsWith(host);
  if (suggestion === undefined || !isHost) {
    const described = describeValue(value);
    return described === "a string" ? NOT_A_URL : described;
  }
  return `"${suggestion.replace(/^.*?:\/\//, "")}"; did you mean "${suggestion}"?`;
}

/** A host name with a domain or a port, or an address. Another text without a protocol may be a secret. */
const HOST =
  /^(?:localhost|\[[\da-f:.]+\]|[a-z\d-]{1,40}(?:\.[a-z\d-]{1,40})*(?:\.[a-z]{2,10}|\.\d{1,3}|(?=:)))(?::\d+)?$/;
const LOCAL_HOST = /^(?:localhost|127\.|\[::1\])/;
const USER_INFO = /^[^/?#]*@/;

/**
 * Completes an address such as `localhost:3000/mcp`: without TLS on this machine, with TLS elsewhere, if
 * there is a choice.
 */
export function addProtocol(address: string, protocols: readonly string[]): string {
  const [insecure, secure = insecure] = protocols.toSorted();
  return `${LOCAL_HOST.test(address.replace(USER_INFO, "")) ? insecure : secure}//${address}`;
}

/** PEM text, as read from a file. */
export type Pem = string | Uint8Array;

/**
 * Trusted authorities and the client certificate of https connections. All values are redacted as secrets.
 */
export interface TlsOptions {
  /**
   * Certificate authorities that are trusted instead of the public ones.
   *
   * @default the public authorities
   */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /**
   * The client certificate, including intermediate certificates, for servers that require mutual TLS.
   * Presented only to the origin of the server and to `certOrigins`.
   *
   * @default none
   */
  readonly cert?: Pem | undefined;
  /**
   * The private key of `cert`, without a passphrase.
   *
   * @default none
   */
  readonly key?: Pem | undefined;
  /**
   * Further origins that `cert` is presented to, such as an authorization server:
   * `https://login.example.com`.
   *
   * @default []
   */
  readonly certOrigins?: readonly string[] | undefined;
}

/**
 * An undici dispatcher (`Agent`, `ProxyAgent`, `MockAgent` … of undici 7 or later) or a compatible object.
 */
export interface DispatcherLike {
  /** Sends a request and calls the methods of `handler` with the response. Returns false when it is busy. */
  dispatch(request: object, handler: object): boolean;
}

/** The options that a custom `fetch` receives. It has to honor `redirect`. */
export interface FetchInitLike {
  /** The HTTP method in upper case: `POST`, `GET` or `DELETE`. */
  readonly method: string;
  /** All headers of the request, by name. */
  readonly headers: Record<string, string>;
  /** The JSON of the message, or a form for an authorization server; missing for requests without a body. */
  readonly body?: string;
  /** How redirects are handled: returned as a response, followed, or rejected. */
  readonly redirect: "manual" | "follow" | "error";
  /** Aborted when the request is canceled or times out. */
  readonly signal: AbortSignal;
}

/** The part of a fetch `Response` that is used. */
export interface ResponseLike {
  /** The HTTP status code. */
  readonly status: number;
  /** The headers of the response. `forEach` calls `visit` for each. */
  readonly headers: { forEach(visit: (value: string, name: string) => void): void };
  /** The stream of the body; `null` for a response without a body. */
  readonly body: { getReader(): BodyReaderLike } | null;
}

/** The part of a `ReadableStreamDefaultReader` that is used. */
export interface BodyReaderLike {
  /** Returns the next chunk; `done` is true after the last one. */
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  /** Stops reading, so that the connection can be reused or closed. */
  cancel(reason?: unknown): Promise<void>;
}

/** A function like the global `fetch`. */
export type FetchLike = (url: string, request: FetchInitLike) => Promise<ResponseLike>;

const CERTIFICATE =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]+?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

export function pemToString(pem: Pem): string {
  return typeof pem === "string" ? pem : Buffer.from(pem).toString("utf8");
}

/** All certificates of a PEM text; `undefined` when there are none or one is invalid. */
function tryParseCertificates(pem: Pem): X509Certificate[] | undefined {
  const blocks = pemToString(pem).match(CERTIFICATE);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** `undefined` when the key is invalid or needs a passphrase. */
function tryParsePrivateKey(pem: Pem): KeyObject | undefined {
  try {
    return createPrivateKey(pemToString(pem));
  } catch {
    return undefined;
  }
}

const isPem = (value: unknown): value is Pem => typeof value === "string" || value instanceof Uint8Array;

function pemSchema(expected: string, isReadable: (pem: Pem) => boolean) {
  return z.custom<Pem>((value) => isPem(value) && isReadable(value), { error: expected });
}

const EXPECTED_CERTIFICATES = "expected PEM certificates as a string or Buffer";
const EXPECTED_PRIVATE_KEY = "expected a PEM private key without a passphrase, as a string or Buffer";
const certificatesSchema = pemSchema(EXPECTED_CERTIFICATES, (pem) => tryParseCertificates(pem) !== undefined);
const privateKeySchema = pemSchema(EXPECTED_PRIVATE_KEY, (pem) => tryParsePrivateKey(pem) !== undefined);

const httpsOrigin = urlSchema("https:").transform((url, context) => {
  if (url.href === `${url.origin}/`) return url.origin;
  context.addIssue(`expected an origin without a path, such as "${url.origin}"`);
  return z.NEVER;
});

const tlsSchema = z.lazy(() =>
  optionsSchema<TlsOptions>({
    ca: z.union([
      z.array(certificatesSchema, EXPECTED_CERTIFICATES).min(1, EXPECTED_CERTIFICATES),
      certificatesSchema,
    ]),
    cert: certificatesSchema,
    key: privateKeySchema,
    certOrigins: z.array(httpsOrigin, "expected an array of origins"),
  }).superRefine(({ cert, key, certOrigins }, context) => {
    if (cert !== undefined && key === undefined) addIssueAt(context, ["key"], "is required with cert");
    if (key !== undefined && cert === undefined) addIssueAt(context, ["cert"], "is required with key");
    if (cert !== undefined && key !== undefined && !keyMatchesCertificate(cert, key))
      addIssueAt(context, ["key"], "does not match cert");
    if (certOrigins !== undefined && cert === undefined)
      addIssueAt(context, ["certOrigins"], "has no effect without cert and key");
  }),
);

function keyMatchesCertificate(cert: Pem, key: Pem): boolean {
  const [leaf] = tryParseCertificates(cert) ?? [];
  const privateKeyObject = tryParsePrivateKey(key);
  // Unreadable certificates and keys are already reported by their own schemas.
  return leaf === undefined || privateKeyObject === undefined || leaf.checkPrivateKey(privateKeyObject);
}

export const HTTP_FIELDS = {
  /**
   * Certificates. Cannot be combined with `dispatcher` or `fetch`.
   *
   * @default the certificate authorities that Node trusts, and no client certificate
   */
  tls: tlsSchema.optional(),
  /**
   * An undici dispatcher that sends every request, including those to an authorization server. It decides
   * about TLS and proxies, and is never closed by this library. Cannot be combined with `fetch`.
   *
   * @default a connection pool of this package
   */
  dispatcher: option
    .withMethods<DispatcherLike>(["dispatch"], "an undici dispatcher: an object with dispatch()")
    .optional(),
  /**
   * A function that sends every request, including those to an authorization server. Slower than a
   * dispatcher.
   *
   * @default a connection pool of this package
   */
  fetch: option.function<FetchLike>().optional(),
};

/** How connections to a server are made. */
export interface HttpOptions extends OptionsOf<typeof HTTP_FIELDS, undefined> {}

/** Rejects combinations: a custom dispatcher or fetch makes its own connections. */
export function validateHttpOptions({ tls, dispatcher, fetch }: HttpOptions, context: IssueContext): void {
  const customOption = dispatcher === undefined ? "fetch" : "dispatcher";
  if (dispatcher !== undefined && fetch !== undefined)
    addIssueAt(context, ["fetch"], "cannot be combined with dispatcher: use one of them");
  if (tls !== undefined && (dispatcher ?? fetch) !== undefined)
    addIssueAt(context, ["tls"], `has no effect with a custom ${customOption}: configure TLS there`);
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * What JavaScript writes into a string for a missing value, an object or a promise: `Bearer ${undefined}`.
 */
const PLACEHOLDER = /^\s*(?:undefined|null|NaN|\[object [^\]]*\])\s*$/;
const USER_PLACEHOLDER = /^(?:undefined|null|NaN|%5Bobject%20.*)$/;
const OBJECT_PLACEHOLDER = /\[object [A-Z]\w*\]/;
const PARAMETER_PLACEHOLDER = /(?:^|[\s;,])[\w.-]+=\s*"?undefined"?\s*(?:$|[;,])/;
export const MADE_FROM_MISSING =
  'was made from a missing value: it is "undefined", "null", "NaN" or "[object …]"';

/** Whether a credential is the string of a missing value, so that sending it can only be a mistake. */
export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text);
}

/**
 * Whether a token can follow its scheme. One with a space begins with a scheme itself, or has several parts.
 */
export function isSingleToken(text: string): boolean {
  return /^\s*\S+\s*$/.test(text);
}

const AUTHORIZATION = /^(?:proxy-)?authorization$/i;
const REPEATED_SCHEME = /^\s*(?:bearer|basic|dpop)\s+(?:bearer|basic|dpop)(?:\s|$)/i;

/** Headers with credentials, by the words of their names: `Cookie`, `X-Api-Key`, but not `X-Keywords`. */
const CREDENTIAL_HEADER =
  /(?:^|[-_])(?:authorization|auth|cookies?|(?:api|access|auth)?(?:keys?|tokens?)|secrets?|passwords?|credentials?)(?:$|[-_])/i;
/** A missing value in a credential, which has no words as other values may: `undefined behavior`. */
const PLACEHOLDER_PART =
  /(?<=^|[\s,;:="'/])undefined(?=$|[\s,;:="'/])|(?<=^|[\s,;:=])(["']?)(?:null|NaN|\[object [^\]]*\])\1(?=$|[\s,;:=])/;

function findHeaderProblem(name: string, value: string): string | undefined {
  if (name.toLowerCase() === "origin" && value === "null") return undefined;
  const isIncomplete = CREDENTIAL_HEADER.test(name) && PLACEHOLDER_PART.test(value);
  if (isIncomplete || hasPlaceholder(value)) return MADE_FROM_MISSING;
  const isRepeated = AUTHORIZATION.test(name) && REPEATED_SCHEME.test(value);
  return isRepeated ? "has a scheme twice: give the token without it" : undefined;
}

function hasPlaceholder(value: string): boolean {
  const [, scheme = "", credential = value] = /^\s*([\w-]+)\s+(.*)$/.exec(value) ?? [];
  if (isPlaceholder(value) || isPlaceholder(credential)) return true;
  if (OBJECT_PLACEHOLDER.test(value) || PARAMETER_PLACEHOLDER.test(value)) return true;
  if (scheme.toLowerCase() !== "basic") return false;
  const [user = "", ...password] = Buffer.from(credential, "base64").toString("utf8").split(":");
  return isPlaceholder(user) || isPlaceholder(password.join(":"));
}

/**
 * Headers with valid HTTP names and values. `Origin: null` is valid, other values of missing ones are
 * refused.
 */
export const HEADERS_SCHEMA = z
  .record(
    z.string().regex(HEADER_NAME, { error: "contains an invalid header name" }),
    z
      .string()
      .regex(HEADER_VALUE, { error: "header values must not contain line breaks or control characters" }),
  )
  .superRefine((headers, context) => {
    for (const [name, value] of Object.entries(headers)) {
      const problem = findHeaderProblem(name, value);
      if (problem !== undefined) addIssueAt(context, [name], problem);
    }
  });
