import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { HttpHost, readBody } from "../../src/testing/http-host.js";
import { SessionTable } from "../../src/testing/session-table.js";

/** One HTTP request, as the server got it. */
interface Heard {
  readonly httpMethod: string | undefined;
  readonly sessionId: string | string[] | undefined;
  readonly body: Record<string, unknown>;
}

export interface SdkServer extends AsyncDisposable {
  readonly url: string;
  readonly heard: Heard[];
  /** The servers of the open sessions. */
  readonly servers: Server[];
  restart(): Promise<void>;
}

/** Servers of the official SDK over HTTP, one for each session, each made by the test. */
export async function startSdkServer(
  createServer: () => Server,
  answers: "json" | "sse" = "sse",
): Promise<SdkServer> {
  const sessions = new SessionTable({ mode: "many", answers: () => answers, resumable: false, createServer });
  const heard: Heard[] = [];
  const host = new HttpHost(async (request, response) => {
    const text = await readBody(request);
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    heard.push({ httpMethod: request.method, sessionId: request.headers["mcp-session-id"], body });
    const isKnown = await sessions.handle(request, response, body, body["method"] === "initialize");
    if (!isKnown) response.writeHead(404).end();
  });
  await host.start();
  const stop = async () => {
    await host.stop();
    await sessions.clear();
  };
  return {
    url: `http://127.0.0.1:${host.port}/mcp`,
    heard,
    get servers() {
      return sessions.servers;
    },
    async restart() {
      await stop();
      await host.start();
    },
    [Symbol.asyncDispose]: stop,
  };
}
