import { describeThrown } from "../errors/sanitize-text.js";

const CONNECT_SYSCALLS: ReadonlySet<unknown> = new Set(["getaddrinfo", "connect"]);

/** Whether an error proves that the connection was never established, so that nothing was sent. */
export function isConnectError(error: Error): boolean {
  const code: unknown = Reflect.get(error, "code");
  return (
    CONNECT_SYSCALLS.has(Reflect.get(error, "syscall")) ||
    code === "UND_ERR_CONNECT_TIMEOUT" ||
    (typeof code === "string" && describeTlsError(code) !== undefined)
  );
}

const UNTRUSTED = "has a certificate of an untrusted authority. If it is a private CA, set it as tls.ca.";
const CLIENT_CERT_REQUIRED = "requires a client certificate: set tls.cert and tls.key.";
const CLIENT_CERT_REJECTED = "rejected the client certificate. Check tls.cert and tls.key.";
const VERSION_MISMATCH = "supports no TLS version that Node supports.";

/** The version in the code of an alert differs between versions of OpenSSL: `ERR_SSL_SSL/TLS_ALERT_…` from Node 22. */
const TLS_ALERT = /^ERR_SSL_[^_]+_(?=ALERT_)/;

/** Errors of the TLS handshake by code, alerts without their prefix. Nothing has been sent at that point. */
const TLS_ERRORS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_HAS_EXPIRED: "has an expired certificate. Renew it on the server.",
  CERT_NOT_YET_VALID: "has a certificate that is not valid yet. Check the clock of this machine.",
  CERT_REVOKED: "has a revoked certificate. Replace it on the server.",
  ERR_TLS_CERT_ALTNAME_INVALID: "has a certificate for other host names. Check the host of the URL.",
  ALERT_CERTIFICATE_REQUIRED: CLIENT_CERT_REQUIRED,
  ALERT_HANDSHAKE_FAILURE: `rejected the TLS handshake. If it ${CLIENT_CERT_REQUIRED}`,
  ALERT_UNKNOWN_CA: CLIENT_CERT_REJECTED,
  ALERT_ACCESS_DENIED: CLIENT_CERT_REJECTED,
  ALERT_BAD_CERTIFICATE: CLIENT_CERT_REJECTED,
  ALERT_CERTIFICATE_EXPIRED: CLIENT_CERT_REJECTED,
  ALERT_CERTIFICATE_REVOKED: CLIENT_CERT_REJECTED,
  ALERT_CERTIFICATE_UNKNOWN: CLIENT_CERT_REJECTED,
  ALERT_UNSUPPORTED_CERTIFICATE: CLIENT_CERT_REJECTED,
  ERR_SSL_UNSUPPORTED_PROTOCOL: VERSION_MISMATCH,
  ALERT_PROTOCOL_VERSION: VERSION_MISMATCH,
  ERR_SSL_WRONG_VERSION_NUMBER: "does not use TLS on this port. Should the URL start with http://?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "does not use TLS on this port. Should the URL start with http://?",
};

/**
 * Describes a failed TLS handshake and how to fix it. Completes a sentence that starts with the server's
 * name.
 */
export function describeTlsError(code: string): string | undefined {
  return TLS_ERRORS[code.replace(TLS_ALERT, "")];
}

/** The message of undici for a status 101 with the header `upgrade`. Its code is that of all errors of a socket. */
export const BAD_UPGRADE = "bad upgrade";

/**
 * Describes a response that is not valid HTTP, `undefined` for other errors. Completes a sentence that starts with the
 * server's name.
 */
export function describeMalformedResponse(error: Error): string | undefined {
  if (Reflect.get(error, "code") === "UND_ERR_HEADERS_OVERFLOW")
    return "sent response headers that are larger than Node accepts (16 KiB unless --max-http-header-size is set)";
  if (error.message === BAD_UPGRADE) return "sent status 101 (switching protocols), which was not requested";
  // A connection that breaks during a response is reported as invalid, too. That error has no code.
  const isCut = error.message.includes("Invalid EOF state");
  return error.name === "HTTPParserError" && !isCut
    ? `sent an invalid response: ${error.message}`
    : undefined;
}

/** Returns the cause of a "fetch failed" error, or the first of several causes. */
export function unwrapFetchError(error: unknown): Error {
  try {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
    if (reason instanceof Error && typeof reason.message === "string") return reason;
  } catch {
    // A `fetch` of the user may throw an error that cannot be read.
  }
  return new Error(describeThrown(error));
}
