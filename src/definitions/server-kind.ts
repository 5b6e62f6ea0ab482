import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
import type { JsonObject } from "./json.js";
import type { ServerKind } from "./server-spec.js";

/** Every word for a kind that people write in `type` or `transport`. */
const KIND_BY_WORD: Readonly<Record<string, ServerKind>> = {
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  sse: "sse",
  stdio: "stdio",
  websocket: "websocket",
  lambda: "lambda",
  custom: "custom",
  "in-process": "in-process",
};

/** The key that only one kind has; `url` belongs to three and is looked into. */
const KIND_BY_KEY: readonly (readonly [key: string, kind: ServerKind])[] = [
  ["command", "stdio"],
  ["functionName", "lambda"],
  ["openTransport", "custom"],
  ["server", "in-process"],
];

/** Which kind of server this is: by its word, else by its keys. */
export function serverKindOf(definition: JsonObject): ServerKind | DefinitionIssue {
  const { type, transport } = definition;
  if (type !== undefined && transport !== undefined && type !== transport) {
    return {
      path: "transport",
      message: `says ${JSON.stringify(transport)} while type says ${JSON.stringify(type)}`,
    };
  }
  const word = type ?? transport;
  if (word !== undefined) {
    const kind =
      typeof word === "string" && Object.hasOwn(KIND_BY_WORD, word) ? KIND_BY_WORD[word] : undefined;
    if (kind !== undefined) return kind;
    const allowed = Object.keys(KIND_BY_WORD).join(", ");
    return {
      path: type === undefined ? "transport" : "type",
      message: `expected one of ${allowed}, found ${JSON.stringify(word)}`,
    };
  }
  return kindByKeys(definition);
}

function kindByKeys(definition: JsonObject): ServerKind | DefinitionIssue {
  const kinds = KIND_BY_KEY.filter(([key]) => definition[key] !== undefined).map(([, kind]) => kind);
  if (definition["url"] !== undefined) kinds.push(isWebSocket(definition["url"]) ? "websocket" : "http");
  const [kind, another] = kinds;
  if (kind === undefined) {
    return {
      path: "",
      message: "tells no kind of server: expected url, command, functionName, openTransport or server",
    };
  }
  if (another !== undefined) {
    return {
      path: "",
      message: `is of two kinds, ${kind} and ${another}: give the keys of one of them only`,
    };
  }
  return kind;
}

function isWebSocket(url: unknown): boolean {
  return /^wss?:/i.test(String(url));
}
