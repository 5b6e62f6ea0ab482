import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { z } from "zod";
import { urlSchema } from "./schema/url-schema.js";
import { strictObject } from "./schema/strict-object.js";

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
   */
  readonly cert?: Pem | undefined;
  /** The private key of `cert`, without a passphrase. */
  readonly key?: Pem | undefined;
  /**
   * Further origins that `cert` is presented to, such as an authorization server:
   * `https://login.example.com`.
   */
  readonly certOrigins?: readonly string[] | undefined;
}

/**
 * An undici dispatcher (`Agent`, `ProxyAgent`, `MockAgent` … of undici 7 or later) or a compatible object.
 */
export interface DispatcherLike {
  dispatch(request: object, handler: object): boolean;
}

/** The options that a custom `fetch` receives. It has to honor `redirect`. */
export interface FetchInitLike {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: "manual" | "follow" | "error";
  readonly signal: AbortSignal;
}

/** The part of a fetch `Response` that is used. */
export interface ResponseLike {
  readonly status: number;
  readonly headers: { forEach(visit: (value: string, name: string) => void): void };
  readonly body: { getReader(): BodyReaderLike } | null;
}

/** The part of a `ReadableStreamDefaultReader` that is used. */
export interface BodyReaderLike {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/** A function like the global `fetch`. */
export type FetchLike = (url: string, request: FetchInitLike) => Promise<ResponseLike>;

/** How connections to a server are made. */
export interface HttpOptions {
  /** Certificates. Cannot be combined with `dispatcher` or `fetch`. */
  readonly tls?: TlsOptions | undefined;
  /**
   * An undici dispatcher that sends every request, including those to an authorization server. It decides
   * about TLS and proxies, and is never closed by this library. Cannot be combined with `fetch`.
   */
  readonly dispatcher?: DispatcherLike | undefined;
  /**
   * A function that sends every request, including those to an authorization server. Slower than a
   * dispatcher.
   */
  readonly fetch?: FetchLike | undefined;
}

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

const tlsSchema = strictObject({
  ca: z
    .union([
      z.array(certificatesSchema, EXPECTED_CERTIFICATES).min(1, EXPECTED_CERTIFICATES),
      certificatesSchema,
    ])
    .optional(),
  cert: certificatesSchema.optional(),
  key: privateKeySchema.optional(),
  certOrigins: z.array(httpsOrigin, "expected an array of origins").optional(),
}).superRefine(({ cert, key, certOrigins }, context) => {
  const addIssue = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if (cert !== undefined && key === undefined) addIssue("key", "is required with cert");
  if (key !== undefined && cert === undefined) addIssue("cert", "is required with key");
  if (cert !== undefined && key !== undefined && !keyMatchesCertificate(cert, key))
    addIssue("key", "does not match cert");
  if (certOrigins !== undefined && cert === undefined)
    addIssue("certOrigins", "has no effect without cert and key");
});

function keyMatchesCertificate(cert: Pem, key: Pem): boolean {
  const [leaf] = tryParseCertificates(cert) ?? [];
  const privateKeyObject = tryParsePrivateKey(key);
  // Unreadable certificates and keys are already reported by their own schemas.
  return leaf === undefined || privateKeyObject === undefined || leaf.checkPrivateKey(privateKeyObject);
}

const hasDispatch = (value: unknown) =>
  typeof value === "object" && value !== null && typeof Reflect.get(value, "dispatch") === "function";

/** The zod shape of `HttpOptions`. */
export const HTTP_SHAPE = {
  tls: tlsSchema.optional(),
  dispatcher: z
    .custom<DispatcherLike>(hasDispatch, {
      error: "expected an undici dispatcher: an object with dispatch()",
    })
    .optional(),
  fetch: z
    .custom<FetchLike>((value) => typeof value === "function", { error: "expected a function" })
    .optional(),
};

/** Rejects combinations: a custom dispatcher or fetch makes its own connections. */
export function validateHttpOptions(
  { tls: tlsOptions, dispatcher, fetch }: HttpOptions,
  context: Pick<z.core.$RefinementCtx, "addIssue">,
): void {
  const customOption = dispatcher === undefined ? "fetch" : "dispatcher";
  if (dispatcher !== undefined && fetch !== undefined)
    context.addIssue({
      code: "custom",
      path: ["fetch"],
      message: "cannot be combined with dispatcher: use one of them",
    });
  if (tlsOptions !== undefined && (dispatcher ?? fetch) !== undefined)
    context.addIssue({
      code: "custom",
      path: ["tls"],
      message: `has no effect with a custom ${customOption}: configure TLS there`,
    });
}
