import type { ServerKind, ServerConfig } from "./server-config.js";

/** How and where a server is reached, as far as anybody may know: no user, no path, no query. */
export interface ServerEndpoint {
  readonly transport: ServerKind;
  readonly host: string | undefined;
  readonly port: number | undefined;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  "http:": 80,
  "ws:": 80,
  "https:": 443,
  "wss:": 443,
};

export function serverEndpoint({ address }: Pick<ServerConfig, "address">): ServerEndpoint {
  const { kind: transport } = address;
  const url = "url" in address ? address.url : "endpoint" in address ? address.endpoint : undefined;
  if (url === undefined) return { transport, host: undefined, port: undefined };
  const { hostname: host, port, protocol } = url;
  return { transport, host, port: port === "" ? DEFAULT_PORTS[protocol] : Number(port) };
}
