const UNTRUSTED =
  "has a certificate of an authority that is not trusted here. If it is a private one, give it as tls.ca.";
const NEEDS_OURS = "asks for a certificate of ours: give tls.cert and tls.key.";
const REFUSES_OURS = "did not accept our certificate. Are tls.cert and tls.key the right ones?";
const NO_COMMON_VERSION = "speaks no version of TLS that Node speaks.";

/** What went wrong while an https connection was made: nothing has been sent by then. */
const TLS_FAILURES: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_HAS_EXPIRED: "has a certificate that has expired. It has to be renewed on the server.",
  CERT_NOT_YET_VALID: "has a certificate that is not valid yet. Is the clock of this machine right?",
  CERT_REVOKED: "has a certificate that was revoked. It has to be replaced on the server.",
  ERR_TLS_CERT_ALTNAME_INVALID: "has a certificate for other names. Is the host of the URL right?",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: NEEDS_OURS,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: `refused the TLS handshake. If it ${NEEDS_OURS}`,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: REFUSES_OURS,
  ERR_SSL_TLSV1_ALERT_ACCESS_DENIED: REFUSES_OURS,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: REFUSES_OURS,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: REFUSES_OURS,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED: REFUSES_OURS,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: REFUSES_OURS,
  ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE: REFUSES_OURS,
  ERR_SSL_UNSUPPORTED_PROTOCOL: NO_COMMON_VERSION,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: NO_COMMON_VERSION,
  ERR_SSL_WRONG_VERSION_NUMBER: "does not speak TLS there. Does its address start with http://?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "does not speak TLS there. Does its address start with http://?",
};

/** What a failed TLS handshake means, and what to do. It ends a sentence that begins with the server's name. */
export function whyNoTls(code: string): string | undefined {
  return TLS_FAILURES[code];
}
