import { createSecureContext, type SecureContext } from "node:tls";
import type { TlsOptions } from "../config/http-options.js";
import { pemText } from "../config/pem.js";
import { secretsOfUrl } from "../config/collect-secrets.js";
import type { Redactor } from "../errors/redaction.js";
import { type Environment, findProxy } from "./find-proxy.js";
import { HttpConnector } from "./http-connector.js";

export interface ConnectorParts {
  readonly connectMs: number;
  readonly redactor: Redactor;
  readonly env?: Environment;
}

/** Connections of our own to one origin, by the proxy that the environment names for it. */
export function openConnector(
  origin: URL,
  tls: TlsOptions | undefined,
  parts: ConnectorParts,
): HttpConnector {
  const { connectMs, redactor, env = process.env } = parts;
  const proxy = findProxy(origin, env);
  if (proxy !== undefined) redactor.add(secretsOfUrl(proxy.url));
  return new HttpConnector({ connectMs, proxy, secureContext: tls && toSecureContext(tls) });
}

function toSecureContext({ ca, cert, key }: TlsOptions): SecureContext {
  return createSecureContext({
    ...(ca === undefined ? {} : { ca: [ca].flat().map(pemText) }),
    ...(cert === undefined || key === undefined ? {} : { cert: pemText(cert), key: pemText(key) }),
  });
}
