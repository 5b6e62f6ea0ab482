import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { createHash, type KeyObject } from "node:crypto";
import type { DpopCheck } from "./dpop-check.js";
import { verifiedJwt } from "./jwt.js";

interface Grant {
  readonly scope: string;
  /** The key that its tokens are bound to. */
  readonly key?: string | undefined;
  readonly verifierHash?: string | undefined;
}

/**
 * An authorization server and, at `/mcp`, a gate before an MCP server that lets only its tokens
 * through. Access tokens can be revoked; refresh tokens work once.
 */
export class OAuthServer implements AsyncDisposable {
  /** What was posted to the token endpoint, in order. */
  readonly tokenRequests: URLSearchParams[] = [];
  /** Who authenticated there as what, in the same order. */
  readonly tokenClients: (string | undefined)[] = [];
  /** Whose JWTs it takes for a proof. */
  trusted: KeyObject | undefined;
  /** Where there, tokens are given and taken only together with the key that they are bound to. */
  dpop: DpopCheck | undefined;
  /** Scopes that are needed for a tool, by its name. */
  readonly scopesOfTools = new Map<string, string>();
  readonly #behind: string;
  readonly #server: Server;
  readonly #accessTokens = new Map<string, Grant>();
  readonly #refreshTokens = new Map<string, Grant>();
  readonly #codes = new Map<string, Grant>();
  #publicOrigin: string | undefined;
  #count = 0;
  /** Over what it says of itself as an authorization server; `undefined` takes something away. */
  metadata: object = {};
  /** What is answered where the MCP server says what it is; 200 when it does. */
  resourceStatus = 200;
  tokenDelayMs = 0;
  isDown = false;

  private constructor(behind: string) {
    this.#behind = behind;
    this.#server = createServer((request, response) => void this.#handle(request, response));
  }

  /** `publicOrigin` is what it calls itself, when it is reached by another way than straight. */
  static async start(behind: string, publicOrigin?: string): Promise<OAuthServer> {
    const server = new OAuthServer(behind);
    server.#publicOrigin = publicOrigin;
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return this.#publicOrigin ?? `http://127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Every access token that was given out is refused from now on. */
  revokeAccessTokens(): void {
    this.#accessTokens.clear();
  }

  revokeRefreshTokens(): void {
    this.#refreshTokens.clear();
  }

  /** As a user who opens the address, logs in, and is sent back with a code. */
  async logIn(authorizationUrl: string): Promise<string> {
    const answer = await fetch(authorizationUrl, { redirect: "manual" });
    const back = new URL(answer.headers.get("location") ?? "");
    return back.searchParams.get("code") ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", this.origin);
    if (url.pathname === "/mcp") return this.#gate(request, response);
    if (url.pathname.startsWith("/.well-known/oauth-protected-resource")) {
      const own = { resource: this.url, authorization_servers: [this.origin] };
      return json(response, this.resourceStatus, { ...own, ...this.dpop?.resourceMetadata });
    }
    if (url.pathname === "/.well-known/oauth-authorization-server")
      return json(response, 200, this.#metadata());
    if (url.pathname === "/authorize") return this.#authorize(url.searchParams, response);
    if (url.pathname === "/token") {
      this.tokenClients.push(request.headers.authorization);
      return this.#token(new URLSearchParams(await read(request)), request, response);
    }
    response.writeHead(404).end();
  }

  #metadata() {
    return {
      issuer: this.origin,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "private_key_jwt"],
      ...this.dpop?.serverMetadata,
      ...this.metadata,
    };
  }

  async #gate(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request);
    const [scheme, token = ""] = (request.headers.authorization ?? "").split(" ");
    const grant = this.#accessTokens.get(token);
    const wanted = this.dpop === undefined ? "Bearer" : this.dpop.scheme;
    const challenge = `${wanted} resource_metadata="${this.origin}/.well-known/oauth-protected-resource"`;
    if (grant === undefined || scheme !== (grant.key === undefined ? "Bearer" : "DPoP")) {
      response.writeHead(401, { "www-authenticate": challenge }).end("no such token");
      return;
    }
    const refusal = this.dpop?.refusalOf(request, { url: this.url, token, key: grant.key });
    if (refusal !== undefined) {
      const headers = { "www-authenticate": `DPoP error="${refusal}"`, "dpop-nonce": this.dpop?.nonce ?? "" };
      response.writeHead(401, headers).end(refusal);
      return;
    }
    const needed = this.#scopeFor(body);
    if (needed !== undefined && !grant.scope.split(" ").includes(needed)) {
      const more = `${challenge}, error="insufficient_scope", scope="basic ${needed}"`;
      response.writeHead(403, { "www-authenticate": more }).end("not enough");
      return;
    }
    const onward = httpRequest(
      this.#behind,
      { method: request.method, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    onward.end(body);
  }

  #scopeFor(body: string): string | undefined {
    const name = /"method":"tools\/call".*"name":"(\w+)"/.exec(body)?.[1];
    return name === undefined ? undefined : this.scopesOfTools.get(name);
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    const code = this.#next("code");
    const scope = query.get("scope") ?? "basic";
    this.#codes.set(code, { scope, verifierHash: query.get("code_challenge") ?? undefined });
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    response.writeHead(302, { location: back.href }).end();
  }

  async #token(params: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.tokenRequests.push(params);
    const refusal = this.dpop?.refusalOf(request, { url: `${this.origin}/token` });
    if (refusal !== undefined) {
      response.setHeader("dpop-nonce", this.dpop?.nonce ?? "");
      return json(response, 400, { error: refusal });
    }
    const key = this.dpop?.keyOf(request);
    if (this.tokenDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.tokenDelayMs));
    if (this.isDown) return json(response, 503, { error: "temporarily_unavailable" });
    const grant = this.#grantFor(params);
    if (grant === undefined) return json(response, 400, { error: "invalid_grant" });
    const access = this.#next("access");
    const refresh = this.#next("refresh");
    this.#accessTokens.set(access, { ...grant, key });
    this.#refreshTokens.set(refresh, grant);
    return json(response, 200, {
      access_token: access,
      token_type: key === undefined ? "Bearer" : "DPoP",
      expires_in: 3600,
      scope: grant.scope,
      ...(params.has("code") || params.has("refresh_token") ? { refresh_token: refresh } : {}),
    });
  }

  #grantFor(params: URLSearchParams): Grant | undefined {
    const type = params.get("grant_type");
    if (type === "client_credentials") return { scope: params.get("scope") ?? "basic" };
    if (type?.endsWith(":jwt-bearer")) return this.#grantBy(params);
    if (type === "refresh_token") return take(this.#refreshTokens, params.get("refresh_token"));
    const grant = take(this.#codes, params.get("code"));
    const hash = createHash("sha256")
      .update(params.get("code_verifier") ?? "")
      .digest("base64url");
    return grant?.verifierHash === hash ? grant : undefined;
  }

  #grantBy(params: URLSearchParams): Grant | undefined {
    const said = verifiedJwt(params.get("assertion") ?? "", this.trusted)?.claims;
    const isGood = said?.["aud"] === this.origin && Number(said["exp"]) * 1000 > Date.now();
    return isGood ? { scope: params.get("scope") ?? "basic" } : undefined;
  }

  #next(kind: string): string {
    this.#count += 1;
    return `${kind}-Token-${this.#count}`;
  }
}

function take(grants: Map<string, Grant>, key: string | null): Grant | undefined {
  const grant = grants.get(key ?? "");
  grants.delete(key ?? "");
  return grant;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
