import type { JsonObject } from "../../json/json.js";
import type { ChosenServer } from "../servers/selected-server.js";
import type { OpenedServer } from "../servers/connect-servers.js";

/** A server as programs read of it. */
export function serverDocument(server: ChosenServer, opened: OpenedServer | undefined): JsonObject {
  const { name, kind, address, scope, file } = server;
  return { name, kind, address, scope, file, state: stateOf(opened), ...factsOf(opened) };
}

function stateOf(opened: OpenedServer | undefined): "connected" | "failed" | "refused" {
  if (opened === undefined) return "refused";
  return opened.error === undefined ? "connected" : "failed";
}

function factsOf(opened: OpenedServer | undefined): JsonObject {
  if (opened?.tools === undefined) return {};
  const { client, latencyMs } = opened;
  const { serverInfo, protocolVersion } = client;
  return { latencyMs: Math.round(latencyMs), serverInfo, protocolVersion };
}
