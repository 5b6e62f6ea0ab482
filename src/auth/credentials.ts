import { type AuthGrant, isAuthGrant, type ParsedGrant, AUTH_GRANT_SCHEMA } from "../config/auth-grant.js";
import type { CallContext } from "../config/call-context.js";
import type { CredentialSources, HeaderValues, OAuthTokens } from "../config/credential-options.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { zodToIssues, ZOD_ERROR_MAP } from "../config/schema/zod-issues.js";
import { HEADERS_SCHEMA } from "../config/schema/header-schema.js";
import { collectHeaderSecrets } from "../config/collect-secrets.js";
import { type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { GrantTokenSource } from "./grant-token-source.js";
import type { ResponseHead, ResponseHeaders } from "../net/http-request.js";
import { type Dpop, DPOP_NONCE_HEADER } from "./dpop.js";
import type { ChallengeReason } from "./auth-challenge.js";
import type { AuthorizationResponse, OAuthFlow, TokenSource } from "./oauth-flow.js";

/** The authentication headers of one request, and where its token comes from. */
export interface RequestAuth {
  readonly headers: HeaderValues;
  readonly token: string | undefined;
  /** Undefined when a function returned the token. */
  readonly source: TokenSource | undefined;
  /** Creates the `dpop` header of one request, for a token that is bound to a key. */
  readonly createDpopProof?: ((method: string, url: string | URL) => string) | undefined;
  /**
   * The token was not issued to this client's key, for example to a previous process: it may be bound to
   * another key.
   */
  readonly issuedElsewhere?: boolean | undefined;
}

/** The response that rejected a request, and why another attempt may succeed. */
interface AuthChallenge {
  readonly response: ResponseHead;
  readonly reason: ChallengeReason;
}

interface CredentialsDependencies {
  readonly server: string;
  readonly url: URL;
  readonly dpop: Dpop;
  readonly sources: CredentialSources;
  readonly redactor: Redactor;
  readonly oauth: OAuthFlow;
}

/**
 * The credentials of one identity. They are read for every request, so that a changed token takes effect at
 * once.
 */
export class Credentials {
  readonly #deps: CredentialsDependencies;
  #sessionContext: CallContext;
  #grantTokens: GrantTokenSource | undefined;

  constructor(deps: CredentialsDependencies) {
    this.#deps = deps;
    this.#sessionContext = createAnonymousContext(deps.server);
  }

  /**
   * Sets the caller that the session's own requests are authenticated as, without the details of its tool
   * call.
   */
  setContext(context: CallContext): void {
    const { toolCall: _, signal: __, ...config } = context.config;
    this.#sessionContext = {
      ...context,
      config,
      purpose: "discovery",
      tool: undefined,
      toolCallId: undefined,
      state: undefined,
      signal: undefined,
    };
  }

  /** `context` is the call that the request belongs to; without it, the request is the session's own. */
  async getAuth(context: CallContext = this.#sessionContext): Promise<RequestAuth> {
    const { sources, dpop } = this.#deps;
    const headers = await this.#getHeaders(context);
    const auth = await this.#resolveAuth(context);
    const source = typeof auth === "object" && auth !== null ? auth : undefined;
    const tokens = source === undefined ? undefined : await this.#getTokens(source);
    const hasNoToken = source === undefined ? sources.auth === undefined : tokens?.access_token === undefined;
    if (hasNoToken) return { headers, source, token: undefined };
    const token = this.#parseToken(source === undefined ? auth : tokens?.access_token);
    const isBound = tokens !== undefined && dpop.isBound(tokens);
    const { authorization = "" } = this.#parseHeaders({
      authorization: `${isBound ? "DPoP" : "Bearer"} ${token}`,
    });
    const createDpopProof = (method: string, url: string | URL) => dpop.createProof(method, url, token);
    return {
      headers: { ...headers, authorization },
      source,
      token,
      ...(isBound ? { createDpopProof, issuedElsewhere: !dpop.isRegistered(token) } : {}),
    };
  }

  /** Stores the DPoP nonce of a response for the next proof. */
  onResponseHeaders(headers: ResponseHeaders): void {
    const { dpop, url } = this.#deps;
    dpop.storeNonce(url, headers[DPOP_NONCE_HEADER]);
  }

  /** Returns other credentials to retry with after a challenge, or undefined if there are none. */
  async renewAfter(
    used: RequestAuth,
    { response, reason }: AuthChallenge,
    context?: CallContext,
  ): Promise<RequestAuth | undefined> {
    const { oauth } = this.#deps;
    const { source, token, createDpopProof } = used;
    // The token was not checked; the missing nonce was stored from the headers of this response.
    if (createDpopProof !== undefined && reason === "dpop") return this.getAuth(context);
    if (source === undefined) {
      if (response.status !== 401) return undefined;
      const next = await this.getAuth(context);
      return JSON.stringify(next.headers) === JSON.stringify(used.headers) ? undefined : next;
    }
    const isRenewed = await oauth.renew(source, token, response);
    return isRenewed ? this.getAuth(context) : undefined;
  }

  /** Completes a login with the response of the authorization server. */
  async finishLogin(response: AuthorizationResponse): Promise<void> {
    const { server, oauth } = this.#deps;
    const source = await this.#resolveAuth(this.#sessionContext);
    if (typeof source !== "object" || source === null || source instanceof GrantTokenSource) {
      const text = `Server "${server}" has no OAuth provider (auth), so there is no login to finish.`;
      throw new McpRuntimeError("invalid-config", text, { server });
    }
    await oauth.finishLogin(source, response);
  }

  async #getHeaders(context: CallContext): Promise<HeaderValues> {
    const { sources, redactor } = this.#deps;
    const { headersProvider } = sources;
    if (headersProvider === undefined) return {};
    const headers = this.#parseHeaders(await this.#callProvider("headers", headersProvider, context));
    for (const value of Object.values(headers)) redactor.addRotating(value, collectHeaderSecrets);
    return headers;
  }

  /** Returns a token or the source of tokens. */
  async #resolveAuth(context: CallContext): Promise<string | TokenSource | undefined> {
    const { server, sources, dpop } = this.#deps;
    const { auth } = sources;
    if (typeof auth !== "function") return isAuthGrant(auth) ? this.#tokenSourceFor(auth) : auth;
    const value = await this.#callProvider("auth", auth, context);
    if (typeof value === "string" && dpop.isRequired) {
      const text = `The function auth of server "${server}" returned a token, which cannot be bound to a key (dpop). Use an OAuth provider or a grant instead.`;
      throw new McpRuntimeError("invalid-config", text, { server });
    }
    if (isAuthGrant(value)) return this.#tokenSourceFor(this.#parseGrant(value));
    if (typeof value !== "object" || value === null || typeof value.tokens === "function") return value;
    const message = `expected a token, an OAuth provider or a grant, got ${describeValue(value)}`;
    throw this.#configError("auth", [{ path: "", message }]);
  }

  /** Keeps the tokens when the grant changes: a function may return another assertion each time. */
  #tokenSourceFor(grant: ParsedGrant): GrantTokenSource {
    this.#grantTokens ??= new GrantTokenSource(grant);
    this.#grantTokens.grant = grant;
    return this.#grantTokens;
  }

  /** Calls a user's function. An error that it throws is reported as missing credentials (`unauthorized`). */
  async #callProvider<T>(
    name: "headers" | "auth",
    provider: (context: CallContext) => T | Promise<T>,
    context: CallContext,
  ): Promise<T> {
    const { server, redactor } = this.#deps;
    try {
      return await provider(context);
    } catch (error) {
      if (error instanceof McpRuntimeError) throw error;
      const reason = redactor.redact(error instanceof Error ? error.message : String(error));
      const text = `The function ${name} of server "${server}" failed: ${reason}. Nothing was sent.`;
      throw new McpRuntimeError("unauthorized", text, { server, cause: redactor.redactCause(error) });
    }
  }

  async #getTokens(source: TokenSource): Promise<OAuthTokens | undefined> {
    const { oauth } = this.#deps;
    return this.#callProvider("auth", () => oauth.getTokens(source), this.#sessionContext);
  }

  #parseHeaders(headers: unknown): HeaderValues {
    const parsed = HEADERS_SCHEMA.safeParse(headers, ZOD_ERROR_MAP);
    if (parsed.success) return parsed.data;
    throw this.#configError("headers", zodToIssues(parsed.error));
  }

  #parseGrant(grant: AuthGrant): ParsedGrant {
    const parsed = AUTH_GRANT_SCHEMA.safeParse(grant, ZOD_ERROR_MAP);
    if (parsed.success) return parsed.data;
    throw this.#configError("auth", zodToIssues(parsed.error));
  }

  #configError(name: "headers" | "auth", issues: readonly ConfigIssue[]): McpRuntimeError {
    const { server } = this.#deps;
    return configError(`The return value of function ${name} of server "${server}"`, issues, { server });
  }

  #parseToken(token: unknown): string {
    const { server, redactor } = this.#deps;
    if (typeof token !== "string" || token.trim() === "") {
      const text = `The auth of server "${server}" returned no token. Nothing was sent.`;
      throw new McpRuntimeError("unauthorized", text, { server });
    }
    redactor.addRotating(token, collectHeaderSecrets);
    return token;
  }
}

/** The context before any caller is known. */
function createAnonymousContext(server: string): CallContext {
  return {
    purpose: "discovery",
    server,
    configurable: {},
    context: undefined,
    state: undefined,
    store: undefined,
    signal: undefined,
    config: {},
  };
}
