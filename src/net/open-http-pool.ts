import type { HttpOptions } from "../config/http-options.js";
import { BorrowedConnections } from "./user-dispatcher.js";
import { FetchDispatcher } from "./fetch-dispatcher.js";
import { HttpPool } from "./http-pool.js";
import { type ConnectorParts, openConnector } from "./create-connector.js";
import { OwnConnections } from "./pooled-dispatchers.js";

interface HttpTarget extends HttpOptions {
  readonly url: URL;
}

interface HttpPoolParts extends ConnectorParts {
  readonly sockets: number;
}

/** A way to a server: by a dispatcher or `fetch` that the caller lends, or by connections of our own. */
export function openHttpPool({ url, tls, dispatcher, fetch }: HttpTarget, parts: HttpPoolParts): HttpPool {
  const { origin } = url;
  const lent = fetch === undefined ? dispatcher : new FetchDispatcher(fetch);
  if (lent !== undefined) return new HttpPool({ origin, connections: new BorrowedConnections(origin, lent) });
  const connector = openConnector(url, tls, parts);
  const connections = new OwnConnections({ origin, sockets: parts.sockets, connector });
  return new HttpPool({ origin, connections });
}
