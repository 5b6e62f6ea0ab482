import { z } from "zod";
import { addressOf } from "./url-schema.js";
import { closedObject } from "./strict-object.js";
import type { FetchLike, DispatcherLike, HttpOptions, Pem } from "./http-options.js";
import { certificatesIn, privateKeyIn } from "./pem.js";

const isPem = (value: unknown): value is Pem => typeof value === "string" || value instanceof Uint8Array;

function pemOf(expected: string, isReadable: (pem: Pem) => boolean) {
  return z.custom<Pem>((value) => isPem(value) && isReadable(value), { error: expected });
}

const CERTIFICATES = "expected certificates in PEM, as text or as a Buffer";
const PRIVATE_KEY = "expected a private key without passphrase in PEM, as text or as a Buffer";
const certificates = pemOf(CERTIFICATES, (pem) => certificatesIn(pem) !== undefined);
const privateKey = pemOf(PRIVATE_KEY, (pem) => privateKeyIn(pem) !== undefined);

const secureOrigin = addressOf("https:").transform((url, context) => {
  if (url.href === `${url.origin}/`) return url.origin;
  context.addIssue(`expected no more than an origin, such as "${url.origin}"`);
  return z.NEVER;
});

const tls = closedObject({
  ca: z.union([z.array(certificates, CERTIFICATES).min(1, CERTIFICATES), certificates]).optional(),
  cert: certificates.optional(),
  key: privateKey.optional(),
  certOrigins: z.array(secureOrigin, "expected a list of origins").optional(),
}).superRefine(({ cert, key, certOrigins }, context) => {
  const complain = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if (cert !== undefined && key === undefined) complain("key", "is missing: a certificate needs its key");
  if (key !== undefined && cert === undefined) complain("cert", "is missing: a key needs its certificate");
  if (cert !== undefined && key !== undefined && !isPair(cert, key))
    complain("key", "is not the key of cert");
  if (certOrigins !== undefined && cert === undefined)
    complain("certOrigins", "has no effect without a certificate: give cert and key");
});

function isPair(cert: Pem, key: Pem): boolean {
  const [own] = certificatesIn(cert) ?? [];
  const privateKeyObject = privateKeyIn(key);
  // What cannot be read at all has been complained about.
  return own === undefined || privateKeyObject === undefined || own.checkPrivateKey(privateKeyObject);
}

const hasDispatch = (value: unknown) =>
  typeof value === "object" && value !== null && typeof Reflect.get(value, "dispatch") === "function";

/** How connections are made: the keys that every kind of server over HTTP has. */
export const HTTP_SHAPE = {
  tls: tls.optional(),
  dispatcher: z
    .custom<DispatcherLike>(hasDispatch, {
      error: "expected an undici dispatcher: an object with dispatch()",
    })
    .optional(),
  fetch: z
    .custom<FetchLike>((value) => typeof value === "function", { error: "expected a function" })
    .optional(),
};

/** Whoever brings connections of their own decides there what is trusted. */
export function refineHttp(
  { tls: given, dispatcher, fetch }: HttpOptions,
  context: Pick<z.core.$RefinementCtx, "addIssue">,
): void {
  const own = dispatcher === undefined ? "fetch" : "dispatcher";
  if (dispatcher !== undefined && fetch !== undefined)
    context.addIssue({
      code: "custom",
      path: ["fetch"],
      message: "cannot stand next to dispatcher: give one",
    });
  if (given !== undefined && (dispatcher ?? fetch) !== undefined)
    context.addIssue({
      code: "custom",
      path: ["tls"],
      message: `has no effect on a ${own} of your own: set it up there`,
    });
}
