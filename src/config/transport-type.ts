import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";
import type { ServerKind } from "./server-config.js";

/** Every word for a kind that people write in `type` or `transport`. */
const KIND_BY_WORD: ReadonlyMap<unknown, ServerKind> = new Map([
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

/** The key that only one kind has; `url` belongs to three and is looked into. */
const KIND_BY_KEY: readonly (readonly [key: string, kind: ServerKind])[] = [
  ["command", "stdio"],
  ["functionName", "lambda"],
  ["openTransport", "custom"],
  ["server", "in-process"],
  ["resolve", "dynamic"],
];

/** Which kind of server this is: by its word, else by its keys. */
export function serverKindOf(definition: JsonObject): ServerKind | ConfigIssue {
  const { type, transport } = definition;
  if (type === undefined && transport === undefined) return kindByKeys(definition);
  if (type === undefined) return kindByWord("transport", transport);
  const kind = kindByWord("type", type);
  if (transport === undefined || typeof kind !== "string" || kindByWord("transport", transport) === kind)
    return kind;
  return {
    path: "transport",
    message: `says ${describeValue(transport)} while type says ${describeValue(type)}`,
  };
}

function kindByWord(path: "type" | "transport", word: unknown): ServerKind | ConfigIssue {
  const allowed = [...KIND_BY_WORD.keys()].join(", ");
  return (
    KIND_BY_WORD.get(word) ?? { path, message: `expected one of ${allowed}, found ${describeValue(word)}` }
  );
}

function kindByKeys(definition: JsonObject): ServerKind | ConfigIssue {
  const kinds = KIND_BY_KEY.filter(([key]) => definition[key] !== undefined).map(([, kind]) => kind);
  const { url } = definition;
  if (url !== undefined) kinds.push(isWebSocket(url) ? "websocket" : "http");
  const [kind, another] = kinds;
  if (kind === undefined) {
    const message = "tells no kind of server: expected url, command, functionName, openTransport or server";
    return { path: "", message };
  }
  if (another !== undefined) {
    const message = `is of two kinds, ${kind} and ${another}: give the keys of one of them only`;
    return { path: "", message };
  }
  return kind;
}

function isWebSocket(url: unknown): boolean {
  const address = url instanceof URL ? url.href : url;
  return typeof address === "string" && /^wss?:/i.test(address);
}
