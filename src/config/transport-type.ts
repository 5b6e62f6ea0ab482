import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";
import type { TransportType } from "./server-config.js";

/** Accepted values of `type` and `transport`. */
const TYPE_ALIASES: ReadonlyMap<unknown, TransportType> = new Map([
  ["http", "http"],
  ["streamable-http", "http"],
  ["streamableHttp", "http"],
  ["sse", "sse"],
  ["stdio", "stdio"],
  ["websocket", "websocket"],
  ["lambda", "lambda"],
  ["custom", "custom"],
  ["in-process", "in-process"],
  ["dynamic", "dynamic"],
]);

/** Keys that identify a transport. `url` is not one of them: its protocol decides. */
const TYPE_BY_KEY: readonly (readonly [key: string, type: TransportType])[] = [
  ["command", "stdio"],
  ["functionName", "lambda"],
  ["openTransport", "custom"],
  ["server", "in-process"],
  ["resolve", "dynamic"],
];

/** The transport of a definition: from `type` or `transport`, otherwise inferred from its keys. */
export function getTransportType(definition: JsonObject): TransportType | ConfigIssue {
  const { type, transport } = definition;
  if (type === undefined && transport === undefined) return inferType(definition);
  if (type === undefined) return typeFromName("transport", transport);
  const transportType = typeFromName("type", type);
  if (
    transport === undefined ||
    typeof transportType !== "string" ||
    typeFromName("transport", transport) === transportType
  )
    return transportType;
  return {
    path: "transport",
    message: `is ${describeValue(transport)}, but type is ${describeValue(type)}`,
  };
}

function typeFromName(path: "type" | "transport", name: unknown): TransportType | ConfigIssue {
  const allowed = [...TYPE_ALIASES.keys()].join(", ");
  return (
    TYPE_ALIASES.get(name) ?? { path, message: `expected one of ${allowed}, got ${describeValue(name)}` }
  );
}

function inferType(definition: JsonObject): TransportType | ConfigIssue {
  const types = TYPE_BY_KEY.filter(([key]) => definition[key] !== undefined).map(([, type]) => type);
  const { url } = definition;
  if (url !== undefined) types.push(isWebSocketUrl(url) ? "websocket" : "http");
  const [first, second] = types;
  if (first === undefined) {
    const message =
      "cannot determine the transport: expected url, command, functionName, openTransport or server";
    return { path: "", message };
  }
  if (second !== undefined) {
    const message = `matches two transports, ${first} and ${second}: use the keys of only one`;
    return { path: "", message };
  }
  return first;
}

function isWebSocketUrl(url: unknown): boolean {
  const href = url instanceof URL ? url.href : url;
  return typeof href === "string" && /^wss?:/i.test(href);
}
