import type { Clock } from "../async/clock.js";
import { isAuthGrant, type ParsedGrant, AUTH_GRANT_SCHEMA } from "../config/auth-grant.js";
import type { CallContext } from "../config/call-context.js";
import type { CredentialSources, HeaderValues, OAuthProvider } from "../config/credential-options.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import { parseOptions } from "../config/parse-options.js";
import { HEADERS_SCHEMA, type HttpOptions, isPlaceholder, isSingleToken } from "../config/http-options.js";
import { collectHeaderSecrets } from "../config/collect-secrets.js";
import type { Redactor, SecretLease } from "../errors/redaction.js";
import { describeThrown } from "../errors/sanitize-text.js";
import { GrantTokenSource } from "./grant-token-source.js";
import type { ResponseHead, ResponseHeaders } from "../net/http-request.js";
import { Dpop, DPOP_NONCE_HEADER, type ClientKeys } from "./dpop.js";
import {
  type AuthorizationResponse,
  type ChallengeReason,
  type OAuthDependencies,
  OAuthFlow,
  type TokenSource,
} from "./oauth-flow.js";
import type { ServerConfig, WebAddress } from "../config/server-config.js";
import type { AddressGuard } from "../net/address-guard.js";
import { OneOffFetch } from "../net/one-off-fetch.js";
import { toHttpUrl } from "../net/http-connector.js";

/** The authentication headers of one request, and where its token comes from. */
export interface RequestAuth {
  readonly headers: HeaderValues;
  readonly token: string | undefined;
  /** Keep the headers and the token redacted for as long as the request may be answered. */
  readonly leases: readonly (SecretLease | undefined)[];
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
  /** No caller waits for the request: a rejected token is refreshed, but never starts a login. */
  readonly isBackground?: boolean | undefined;
}

/** The credentials of the requests of one session. */
export type RequestCredentials = Pick<Credentials, "getAuth" | "onResponseHeaders" | "renewAfter">;

/** Credentials that start no login until the session is open, and callers use it. */
interface BackgroundCredentials extends RequestCredentials {
  allowLogin(): void;
}

/**
 * The credentials of one identity. They are read for every request, so that a changed token takes effect at
 * once.
 */
export class Credentials {
  readonly #deps: OAuthDependencies & CredentialSources;
  readonly #oauth: OAuthFlow;
  #sessionContext: CallContext;
  #grantTokens: GrantTokenSource | undefined;
  /** Keeps the leases as long as the call: its response may arrive on another request, and be recorded later. */
  readonly #authByCall = new WeakMap<CallContext, RequestAuth>();

  constructor(deps: OAuthDependencies & CredentialSources) {
    this.#deps = deps;
    this.#oauth = new OAuthFlow(deps);
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
    const { dpop, redactor } = this.#deps;
    const headers = await this.#getHeaders(context);
    const leases = Object.values(headers).map((value) => redactor.addRotating(value, collectHeaderSecrets));
    const auth = await this.#resolveAuth(context);
    const source = typeof auth === "object" && auth !== null ? auth : undefined;
    const tokens = source && (await this.#callProvider("auth", () => this.#oauth.getTokens(source), context));
    const hasNoToken =
      source === undefined ? this.#deps.auth === undefined : tokens?.access_token === undefined;
    if (hasNoToken) return this.#keep(context, { headers, leases, source, token: undefined });
    const token = this.#parseToken(source === undefined ? auth : tokens?.access_token);
    leases.push(redactor.addRotating(token, collectHeaderSecrets));
    const isBound = tokens !== undefined && dpop.isBound(tokens);
    const { authorization = "" } = this.#parseHeaders(
      { authorization: `${isBound ? "DPoP" : "Bearer"} ${token}` },
      "auth",
    );
    const createDpopProof = (method: string, url: string | URL) => dpop.createProof(method, url, token);
    return this.#keep(context, {
      headers: { ...headers, authorization },
      leases,
      source,
      token,
      ...(isBound ? { createDpopProof, issuedElsewhere: !dpop.isRegistered(token) } : {}),
    });
  }

  #keep(context: CallContext, auth: RequestAuth): RequestAuth {
    this.#authByCall.set(context, auth);
    return auth;
  }

  /** Stores the DPoP nonce of a response for the next proof. */
  onResponseHeaders(headers: ResponseHeaders): void {
    const { dpop, url } = this.#deps;
    dpop.storeNonce(url, headers[DPOP_NONCE_HEADER]);
  }

  /** Returns other credentials to retry with after a challenge, or undefined if there are none. */
  async renewAfter(
    used: RequestAuth,
    { response, reason, isBackground = false }: AuthChallenge,
    context?: CallContext,
  ): Promise<RequestAuth | undefined> {
    const { source, token, createDpopProof } = used;
    // The token was not checked; the missing nonce was stored from the headers of this response.
    if (createDpopProof !== undefined && reason === "dpop") return this.getAuth(context);
    if (source === undefined) {
      if (response.status !== 401) return undefined;
      const next = await this.getAuth(context);
      return JSON.stringify(next.headers) === JSON.stringify(used.headers) ? undefined : next;
    }
    const isRenewed =
      isBackground && mayStartLogin(source)
        ? await this.#oauth.refresh(source, token, response)
        : await this.#oauth.renew(source, token, response);
    return isRenewed ? this.getAuth(context) : undefined;
  }

  /** The same credentials for a session that is opened in the background. */
  withoutLogin(): BackgroundCredentials {
    let isOpening = true;
    return {
      getAuth: (context) => this.getAuth(context),
      onResponseHeaders: (headers) => this.onResponseHeaders(headers),
      renewAfter: (used, challenge, context) =>
        this.renewAfter(used, isOpening ? { ...challenge, isBackground: true } : challenge, context),
      allowLogin: () => {
        isOpening = false;
      },
    };
  }

  /** Completes a login with the response of the authorization server. */
  async finishLogin(response: AuthorizationResponse): Promise<void> {
    const { server } = this.#deps;
    const source = await this.#resolveAuth(this.#sessionContext);
    if (typeof source !== "object" || source === null || source instanceof GrantTokenSource) {
      const text = `Server "${server}" has no OAuth provider (auth), so there is no login to finish.`;
      throw new McpRuntimeError("invalid-config", text, { server });
    }
    await this.#oauth.finishLogin(source, response);
  }

  async #getHeaders(context: CallContext): Promise<HeaderValues> {
    const { headersProvider } = this.#deps;
    if (headersProvider === undefined) return {};
    return this.#parseHeaders(await this.#callProvider("headers", headersProvider, context), "headers");
  }

  /** Returns a token or the source of tokens. */
  async #resolveAuth(context: CallContext): Promise<string | TokenSource | undefined> {
    const { server, auth, dpop } = this.#deps;
    if (typeof auth !== "function") return isAuthGrant(auth) ? this.#tokenSourceFor(auth) : auth;
    const value = await this.#callProvider("auth", auth, context);
    if (typeof value === "string" && dpop.isRequired) {
      const text = `The function auth of server "${server}" returned a token, which cannot be bound to a key (dpop). Use an OAuth provider or a grant instead.`;
      throw new McpRuntimeError("invalid-config", text, { server });
    }
    if (isAuthGrant(value))
      return this.#tokenSourceFor(parseOptions(AUTH_GRANT_SCHEMA, value, this.#describeReturnValue("auth")));
    if (typeof value !== "object" || value === null || typeof value.tokens === "function") return value;
    const message = `expected a token, an OAuth provider or a grant, got ${describeValue(value)}`;
    throw configError(this.#describeReturnValue("auth").subject, [{ path: "", message }], { server });
  }

  /** Keeps the tokens when the grant changes: a function may return another assertion each time. */
  #tokenSourceFor(grant: ParsedGrant): GrantTokenSource {
    this.#deps.fetch.trust(grant.issuer);
    if (grant.grant === "enterprise-managed") this.#deps.fetch.trust(grant.identityProvider.tokenEndpoint);
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
      const reason = redactor.redact(describeThrown(error));
      const text = `The function ${name} of server "${server}" failed: ${reason}. Nothing was sent.`;
      throw new McpRuntimeError("unauthorized", text, { server, cause: redactor.redactCause(error) });
    }
  }

  #parseHeaders(headers: unknown, source: "headers" | "auth"): HeaderValues {
    return parseOptions(HEADERS_SCHEMA, headers, this.#describeReturnValue(source));
  }

  #describeReturnValue(name: "headers" | "auth") {
    const { server } = this.#deps;
    return { subject: `The return value of function ${name} of server "${server}"`, server };
  }

  #parseToken(token: unknown): string {
    const { server } = this.#deps;
    if (typeof token !== "string" || token.trim() === "" || isPlaceholder(token)) {
      const placeholder = typeof token === "string" && token.trim() !== "" ? `, but "${token.trim()}"` : "";
      const text = `The auth of server "${server}" returned no token${placeholder}. Nothing was sent.`;
      throw new McpRuntimeError("unauthorized", text, { server });
    }
    if (isSingleToken(token)) return token;
    const message =
      "expected a token without spaces, and without a scheme such as Bearer, which is added (the value is not shown)";
    throw configError(this.#describeReturnValue("auth").subject, [{ path: "", message }], { server });
  }
}

/** A grant, and a provider without a redirect URL, obtain tokens without the user. */
function mayStartLogin(source: TokenSource): source is OAuthProvider {
  return !(source instanceof GrantTokenSource) && source.redirectUrl !== undefined;
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

/**
 * Creates the provider of per-identity credentials for a server reached over HTTP or WebSocket. Its
 * `createCredentials` is undefined when all identities send the same headers.
 */
export function createCredentialsProvider(
  config: ServerConfig,
  address: WebAddress<string> & HttpOptions,
  {
    redactor,
    keys,
    clock,
    guard,
  }: {
    readonly redactor: Redactor;
    readonly keys: ClientKeys;
    readonly clock: Clock;
    readonly guard: AddressGuard;
  },
) {
  const { name: server, timeouts } = config;
  const { connectMs } = timeouts;
  const { headersProvider, auth } = address;
  // Tokens are requested over HTTP, also for a WebSocket.
  const url = toHttpUrl(address.url);
  const fetch = new OneOffFetch({
    server: { ...address, url },
    connectMs,
    timeoutMs: connectMs,
    redactor,
    guard,
  });
  // One DPoP key for all identities: it identifies the client, and must outlive evicted identities.
  const dpop = new Dpop(address.dpop, keys);
  const deps = { server, url, redactor, fetch, dpop, clock, headersProvider, auth };
  return {
    createCredentials:
      headersProvider === undefined && auth === undefined ? undefined : () => new Credentials(deps),
    close: () => fetch.close(),
  };
}
