// A client in a process of its own, with a session store, used by messages of its parent. Ends with it.
import { McpClient, McpRuntimeError } from "../../src/index.js";
import { fileStore, redisStore } from "../../src/stores/index.js";

export interface ClientRequest {
  readonly id: number;
  /** Calls `echo` with each of these texts at once, and tells what came back for each. */
  readonly texts: readonly string[];
}

export interface ClientAnswer {
  readonly id: number;
  readonly answers: readonly string[];
  readonly sessionId: string | undefined;
  readonly instructions: string | undefined;
}

const [, , url = "", kind, place = ""] = process.argv;
const patient = { timeoutMs: 30_000 };
const store = kind === "file" ? fileStore(place, patient) : redisStore(place, patient);
const client = new McpClient({ name: "test", url, retry: false, session: { store } });

async function callEcho(text: string): Promise<string> {
  try {
    const result = await client.callTool({ name: "echo", args: { text } });
    return result.text();
  } catch (error) {
    return error instanceof McpRuntimeError ? `${error.kind}: ${error.message}` : String(error);
  }
}

async function answer({ id, texts }: ClientRequest): Promise<void> {
  const answers = await Promise.all(texts.map((text) => callEcho(text)));
  const { sessionId, instructions } = client;
  process.send?.({ id, answers, sessionId, instructions } satisfies ClientAnswer);
}

process.on("message", (request: ClientRequest) => void answer(request));
process.on("disconnect", () => void client.close().then(() => store.close()));
