/** The error codes of JSON-RPC and MCP. */
export const RPC_CODES = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  /** Specified for resources; servers use it for other things that they do not have, too. */
  notFound: -32_002,
  /** The request headers do not match the request body. */
  headerMismatch: -32_020,
  /** The server needs a client capability (elicitation, sampling or roots) that the request does not declare. */
  missingCapability: -32_021,
  /** The server does not support the protocol version of the request and did not run it. */
  unsupportedVersion: -32_022,
} as const;
