import { createSecureContext, type SecureContext } from "node:tls";
import { secretsOfUrl } from "../definitions/secrets-of.js";
import type { HttpOptions, TlsOptions } from "../definitions/http-options.js";
import { pemText } from "../definitions/pem.js";
import type { Redactor } from "../errors/redaction.js";
import { BorrowedConnections } from "./borrowed-connections.js";
import { FetchDispatcher } from "./fetch-dispatcher.js";
import { type Environment, findProxy } from "./find-proxy.js";
import { HttpConnector } from "./http-connector.js";
import { HttpPool } from "./http-pool.js";
import { OwnConnections } from "./own-connections.js";

interface HttpTarget extends HttpOptions {
  readonly url: URL;
}

interface HttpPoolParts {
  readonly sockets: number;
  readonly connectMs: number;
  readonly redactor: Redactor;
  readonly env?: Environment;
}

/** A way to a server: by a dispatcher or `fetch` that the caller lends, or by connections of our own. */
export function openHttpPool(target: HttpTarget, parts: HttpPoolParts): HttpPool {
  const { origin } = target.url;
  const lent = target.fetch === undefined ? target.dispatcher : new FetchDispatcher(target.fetch);
  const connections =
    lent === undefined ? ownConnections(target, parts) : new BorrowedConnections(origin, lent);
  return new HttpPool({ origin, connections });
}

function ownConnections({ url, tls }: HttpTarget, parts: HttpPoolParts): OwnConnections {
  const { sockets, connectMs, redactor, env = process.env } = parts;
  const proxy = findProxy(url, env);
  if (proxy !== undefined) redactor.add(secretsOfUrl(proxy.url));
  const connector = new HttpConnector({ connectMs, proxy, secureContext: tls && toSecureContext(tls) });
  return new OwnConnections({ origin: url.origin, sockets, connector });
}

function toSecureContext({ ca, cert, key }: TlsOptions): SecureContext {
  return createSecureContext({
    ...(ca === undefined ? {} : { ca: [ca].flat().map(pemText) }),
    ...(cert === undefined || key === undefined ? {} : { cert: pemText(cert), key: pemText(key) }),
  });
}
