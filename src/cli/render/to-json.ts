import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import type { Redactor } from "../../errors/redaction.js";
import type { SelectedServer } from "../servers/selected-server.js";
import type { ConnectedServer } from "../servers/connect-servers.js";

/** Converts a tool to its JSON output, with secrets of the server definition redacted. */
export function toolToJson(tool: McpToolInfo, redactor: Redactor): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const json = { name, title, description, inputSchema, outputSchema, annotations };
  return redactStrings(json, redactor) as JsonObject;
}

/** Changes only strings that contain a secret: the others are compared with the server later. */
function redactStrings(value: unknown, redactor: Redactor): unknown {
  if (typeof value === "string") return redactor.containsSecret(value) ? redactor.redact(value) : value;
  if (Array.isArray(value)) return value.map((item) => redactStrings(item, redactor));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactStrings(item, redactor)]));
}

/** Converts a server to its JSON output. */
export function serverToJson(server: SelectedServer, connected: ConnectedServer | undefined): JsonObject {
  const { name, kind, address, scope, file } = server;
  return { name, kind, address, scope, file, state: getState(connected), ...getMetadata(connected) };
}

function getState(connected: ConnectedServer | undefined): "connected" | "failed" | "declined" {
  if (connected === undefined) return "declined";
  return connected.error === undefined ? "connected" : "failed";
}

function getMetadata(connected: ConnectedServer | undefined): JsonObject {
  if (connected?.tools === undefined) return {};
  const { client, latencyMs } = connected;
  const { serverInfo, protocolVersion } = client;
  return { latencyMs: Math.round(latencyMs), serverInfo, protocolVersion };
}
