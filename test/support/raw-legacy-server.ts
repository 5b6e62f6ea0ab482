import type { ServerResponse } from "node:http";
import { type RawServer, startRawServer } from "./raw-server.js";

interface LegacyRequest {
  readonly method: string | undefined;
  readonly id: number | undefined;
  /** The server's stream. */
  readonly stream: ServerResponse;
  /** Writes a message to it. */
  readonly say: (message: unknown) => void;
  /** Writes an answer to this request. */
  readonly answer: (text: string) => void;
  /** Of the POST. */
  readonly response: ServerResponse;
}

/** Handles what comes after the greeting. The POST has been answered 202, unless `takesPost` is false. */
type LegacyHandler = (request: LegacyRequest) => void | false;

const GREETING = {
  protocolVersion: "2024-11-05",
  capabilities: { tools: {} },
  serverInfo: { name: "raw legacy", version: "1" },
};

/** A legacy SSE server of a few lines for what no real one does. By default it greets and answers `ok`. */
export async function startRawLegacyServer(
  handle: LegacyHandler = () => false,
  { takesPost = true }: { readonly takesPost?: boolean } = {},
): Promise<RawServer> {
  let stream: ServerResponse | undefined;
  return startRawServer(({ httpMethod, method, id, response }) => {
    if (httpMethod === "GET") {
      stream = openEventStream(response);
      stream.write("event: endpoint\ndata: /messages?sessionId=raw\n\n");
      return;
    }
    if (stream === undefined) return void response.writeHead(404).end();
    const events = stream;
    const say = (message: unknown) =>
      void events.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    const answer = (text: string) =>
      say({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
    if (takesPost || method === "initialize") response.writeHead(202).end();
    if (method === "initialize") say({ jsonrpc: "2.0", id, result: GREETING });
    else if (handle({ method, id, stream: events, say, answer, response }) === false && id !== undefined)
      answer("ok");
  });
}

function openEventStream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream" });
}
