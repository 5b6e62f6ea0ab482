import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export interface UipathStandIn extends AsyncDisposable {
  /** With organisation and tenant. */
  readonly url: string;
  readonly port: number;
  /** Every request to the platform's own API, in order. */
  readonly asked: {
    readonly path: string;
    readonly query: URLSearchParams;
    readonly headers: IncomingHttpHeaders;
  }[];
  /** Answers of its own instead of the platform's: by the first part of the path. */
  readonly answers: Map<"orchestrator_" | "agenthub_", (response: ServerResponse) => void>;
  /** Keys of folders, by path. */
  readonly folders: Map<string, string>;
  /** Addresses of MCP servers, by folder key and slug: `key/slug`. */
  readonly servers: Map<string, unknown>;
}

interface UipathStandInOptions {
  /** The token that it accepts. */
  readonly token: string;
  /** An MCP server that is shown under the platform's own origin, at `/acme/production/mcp`. */
  readonly mcp: string;
}

const TENANT = "/acme/production";

/** The platform's HTTP API, as far as it tells where an MCP server is, and one MCP server behind it. */
export async function startUipathStandIn({ token, mcp }: UipathStandInOptions): Promise<UipathStandIn> {
  const folders: UipathStandIn["folders"] = new Map();
  const servers: UipathStandIn["servers"] = new Map();
  const asked: UipathStandIn["asked"] = [];
  const answers: UipathStandIn["answers"] = new Map();
  const http = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    const isWelcome = request.headers.authorization === `Bearer ${token}`;
    const path = pathname.startsWith(`${TENANT}/`) ? pathname.slice(TENANT.length + 1) : "";
    if (path === "mcp") {
      if (isWelcome) forward(request, response, mcp);
      else json(response, 401, {});
      return;
    }
    asked.push({ path, query: searchParams, headers: request.headers });
    const own = answers.get(path.split("/")[0] as "agenthub_");
    if (own !== undefined) own(response);
    else if (!isWelcome) json(response, 401, { message: "You are not authenticated!" });
    else if (path === "orchestrator_/api/FoldersNavigation/GetFoldersForCurrentUser")
      json(response, 200, pageOf(folders, searchParams));
    else if (path.startsWith("agenthub_/api/servers/")) {
      const slug = decodeURIComponent(path.slice("agenthub_/api/servers/".length));
      const mcpUrl = servers.get(`${String(request.headers["x-uipath-folderkey"])}/${slug}`);
      if (mcpUrl === undefined) json(response, 404, { message: "Not found." });
      else json(response, 200, { id: "1", slug, name: slug, status: 1, mcpUrl });
    } else json(response, 400, { message: "No such address." });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${TENANT}`,
    port,
    asked,
    answers,
    folders,
    servers,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** As the platform does: by a part of the name, page by page. */
function pageOf(folders: ReadonlyMap<string, string>, query: URLSearchParams): object {
  const found = [...folders]
    .filter(([path]) =>
      path
        .split("/")
        .at(-1)
        ?.includes(query.get("searchText") ?? ""),
    )
    .map(([path, key]) => ({ Key: key, FullyQualifiedName: path, DisplayName: path.split("/").at(-1) }));
  const skip = Number(query.get("skip"));
  return { PageItems: found.slice(skip, skip + Number(query.get("take"))), Count: found.length };
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function forward(request: IncomingMessage, response: ServerResponse, to: string): void {
  const { method, headers } = request;
  const onward = httpRequest(to, { ...(method && { method }), headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}
