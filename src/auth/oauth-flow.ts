import { SingleFlight } from "../async/single-flight.js";
import type { Clock } from "../async/clock.js";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthProvider, OAuthTokens } from "../config/credential-options.js";
import { collectGrantSecrets, collectHeaderSecrets } from "../config/collect-secrets.js";
import { HEADERS_SCHEMA, isSingleToken } from "../config/http-options.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor, SecretLease } from "../errors/redaction.js";
import { hasMoreValuesThan } from "../json/describe-value.js";
import { type JsonObject, omitUndefined, tryDecodeURIComponent } from "../json/json.js";
import { type Dpop, withDpop } from "./dpop.js";
import { getErrorText, GrantTokenSource } from "./grant-token-source.js";
import type { ResponseHead } from "../net/http-request.js";
import { type Fetch, peekJson, readCachedDiscovery, withIssuerValidation } from "./issuer-validation.js";
import type { OneOffFetch } from "../net/one-off-fetch.js";

/** What is needed to request tokens for one server. */
export interface OAuthDependencies {
  readonly server: string;
  readonly url: URL;
  readonly redactor: Redactor;
  readonly fetch: OneOffFetch;
  readonly dpop: Dpop;
  readonly clock: Clock;
}

/** Where the tokens of one identity come from: the user's OAuth provider or a grant. */
export type TokenSource = OAuthProvider | GrantTokenSource;

/** The result of a login, from the redirect to the application. */
export interface AuthorizationResponse {
  readonly code: string;
  /** All parameters of the redirect, if known. */
  readonly params: URLSearchParams | undefined;
}

/** The parameters of a `WWW-Authenticate` header. */
interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
  readonly error?: string | undefined;
  /** Whether the server accepts tokens that are bound to a key. */
  readonly acceptsDpop?: boolean | undefined;
}

/**
 * Obtains tokens for one identity with the SDK's `auth()`. When several requests are rejected with the same
 * token, it is renewed only once: many refresh tokens are single-use, and reusing one can log the user out.
 */
export class OAuthFlow {
  readonly #deps: OAuthDependencies;
  readonly #inFlight = new SingleFlight<string, void>();
  #challenge: Challenge = {};
  /** The scope that was requested last. */
  #requestedScope: string | undefined;
  /** The last refresh token that has failed in the background. */
  #failedRefresh: FailedRefresh | undefined;

  constructor(deps: OAuthDependencies) {
    this.#deps = deps;
  }

  /**
   * Returns whether a new token was obtained. Throws when the user must log in or no token can be obtained.
   */
  async renew(source: TokenSource, used: string | undefined, response: ResponseHead): Promise<boolean> {
    const { status } = response;
    // A refreshed token keeps its scope: a wider one requires a new login.
    const needsLogin = status === 403 && !(source instanceof GrantTokenSource);
    const authorize = () => this.#authorize(needsLogin ? withoutRefreshToken(source) : source, status);
    const renewal = { source, used, response, authorize };
    try {
      return await this.#renew(renewal);
    } catch (error) {
      if (!(error instanceof RefreshFailed)) throw error;
      return await this.#renew(renewal);
    }
  }

  /**
   * Refreshes an expired token without a login. Returns false, and changes nothing, if that fails. A rejected refresh
   * token is not tried again; after other failures, growing delays keep requests in the background, which may be caused
   * by the server, from flooding the authorization server.
   */
  async refresh(source: OAuthProvider, used: string | undefined, response: ResponseHead): Promise<boolean> {
    const { refresh_token: refreshToken } = (await this.getTokens(source)) ?? {};
    const { clock } = this.#deps;
    const failed = this.#failedRefresh?.refreshToken === refreshToken ? this.#failedRefresh : undefined;
    const mustWait = failed !== undefined && clock.now() < failed.retryAt;
    if (response.status !== 401 || refreshToken === undefined || mustWait) return false;
    let isRejected = false;
    const onRejected = () => {
      isRejected = true;
    };
    const authorize = async () => {
      try {
        await this.#authorize(withoutLogin(source, onRejected), response.status);
      } catch {
        const delayMs = Math.min((failed?.delayMs ?? MIN_REFRESH_DELAY_MS / 2) * 2, MAX_REFRESH_DELAY_MS);
        const retryAt = isRejected ? Number.POSITIVE_INFINITY : clock.now() + delayMs;
        this.#failedRefresh = { refreshToken, delayMs, retryAt };
        throw new RefreshFailed();
      }
    };
    try {
      return await this.#renew({ source, used, response, authorize });
    } catch {
      return false;
    }
  }

  async #renew({ source, used, response, authorize }: Renewal): Promise<boolean> {
    const challenge = await parseChallenge(response);
    const needsScope = response.status === 403;
    if (needsScope && challenge.error !== "insufficient_scope") return false;
    const scope = needsScope ? await this.#widenScope(source, challenge.scope) : challenge.scope;
    this.#challenge = { ...this.#challenge, ...challenge, ...omitUndefined({ scope }) };
    await this.#inFlight.run(`${scope ?? ""} ${used ?? ""}`, async () => {
      const { access_token: current } = (await this.getTokens(source)) ?? {};
      if (current !== undefined && current !== used) return;
      await authorize();
      this.#failedRefresh = undefined;
    });
    return true;
  }

  /** Returns the usable tokens: unbound ones are ignored when DPoP is required. */
  async getTokens(source: TokenSource): Promise<OAuthTokens | undefined> {
    const { dpop } = this.#deps;
    const tokens = await source.tokens();
    const isUnbound = dpop.isRequired && tokens?.access_token !== undefined && !dpop.isBound(tokens);
    return isUnbound ? undefined : tokens;
  }

  /** Exchanges the authorization code of a login for tokens. */
  async finishLogin(provider: OAuthProvider, login: AuthorizationResponse): Promise<void> {
    await this.#inFlight.run(`code ${login.code}`, () => this.#authorize(provider, 401, login));
  }

  /** A new token replaces the current one, so it needs the current scope as well as the required one. */
  async #widenScope(source: TokenSource, required: string | undefined): Promise<string | undefined> {
    if (required === undefined) return undefined;
    const { scope: granted } = (await source.tokens()) ?? {};
    const registered: unknown =
      source instanceof GrantTokenSource ? source.grant.scope : Reflect.get(source.clientMetadata, "scope");
    // Some servers send an empty scope instead of none.
    const current = [granted, this.#requestedScope, registered, this.#challenge.scope]
      .map(toScopeNames)
      .find((names) => names.length > 0);
    return [...new Set([...(current ?? []), ...toScopeNames(required)])].join(" ");
  }

  /** Obtains new tokens. Throws `unauthorized` if that fails or if the user must log in. */
  async #authorize(source: TokenSource, status: number, login?: AuthorizationResponse): Promise<void> {
    const { server, redactor } = this.#deps;
    const leases: (SecretLease | undefined)[] = [];
    const registerSecret = (secret: string) =>
      leases.push(redactor.addRotating(secret, collectHeaderSecrets));
    let authorizationUrl: string | undefined;
    try {
      if (source instanceof GrantTokenSource) return await this.#requestGrantTokens(source, registerSecret);
      const widerScope = status === 403 ? this.#challenge.scope : undefined;
      const provider = wrapProvider(this.#trackScope(source, widerScope), {
        redirectToAuthorization: async (address) => {
          assertLoginUrl(address);
          authorizationUrl = address.href;
          this.#requestedScope = address.searchParams.get("scope") ?? undefined;
          await source.redirectToAuthorization(address);
        },
      });
      if ((await this.#runSdkAuth(provider, login, registerSecret)) === "AUTHORIZED") return;
    } catch (error) {
      if (error instanceof TokensReplaced) return;
      const details = redactor.excerpt(getErrorText(error));
      const text = `Server "${server}" requires a token, but none could be obtained: ${details}`;
      throw new McpRuntimeError("unauthorized", text, { server, status, cause: redactor.redactCause(error) });
    } finally {
      // Ends the leases after the error is redacted.
      leases.length = 0;
    }
    const text = `Server "${server}" requires a login: open the error's authorizationUrl, then pass the code to client.finishAuth(code).`;
    throw new McpRuntimeError("unauthorized", text, { server, status, authorizationUrl });
  }

  /** Requests the wider scope, also without a login, and stores the requested scope with tokens that have none. */
  #trackScope(source: OAuthProvider, widerScope: string | undefined): OAuthProvider {
    return wrapProvider(
      keepReplacedTokens(source, () => this.#requestedScope),
      {
        // The SDK passes the scope of `clientMetadata`, whatever is required.
        prepareTokenRequest: async (scope) => {
          const params = await source.prepareTokenRequest?.(widerScope ?? scope);
          if (params !== undefined) this.#requestedScope = params.get("scope") ?? undefined;
          return params;
        },
      },
    );
  }

  async #requestGrantTokens(tokens: GrantTokenSource, registerSecret: RegisterSecret): Promise<void> {
    const { url: serverUrl, fetch, dpop } = this.#deps;
    const { resourceMetadataUrl, scope, acceptsDpop = false } = this.#challenge;
    const redactedFetch = this.#withSecretRegistration(fetch.fetch, registerSecret);
    for (const secret of collectGrantSecrets(tokens.grant)) registerSecret(secret);
    await tokens.renew({
      serverUrl,
      resourceMetadataUrl,
      scope,
      fetch: withDpop(redactedFetch, dpop, { isChallenged: acceptsDpop }),
      unboundFetch: redactedFetch,
      signal: fetch.timeoutSignal(),
      registerSecret,
    });
  }

  async #runSdkAuth(
    provider: OAuthProvider,
    login: AuthorizationResponse | undefined,
    registerSecret: RegisterSecret,
  ): Promise<"AUTHORIZED" | "REDIRECT"> {
    const { url, fetch, dpop } = this.#deps;
    const { resourceMetadataUrl, scope, acceptsDpop: isChallenged = false } = this.#challenge;
    const { auth } = await import("@modelcontextprotocol/sdk/client/auth.js");
    const cached = await readCachedDiscovery(provider);
    const redactedFetch = this.#withSecretRegistration(fetch.fetch, registerSecret);
    const validatedFetch = withIssuerValidation(redactedFetch, login?.params, cached);
    return auth(provider as unknown as OAuthClientProvider, {
      serverUrl: url,
      ...omitUndefined({ resourceMetadataUrl, scope, authorizationCode: login?.code }),
      fetchFn: withDpop(validatedFetch, dpop, { isChallenged, cached }),
    });
  }

  /**
   * Registers the secrets of each request before it is sent, because the authorization server may echo them, and the
   * tokens of each response, which the provider may put into an error. Rejects responses that cannot be used. Stores the
   * requested scope.
   */
  #withSecretRegistration(fetch: Fetch, registerSecret: RegisterSecret): Fetch {
    return async (url, init) => {
      const authorization = new Headers(init?.headers).get("authorization");
      if (authorization !== null) collectAuthorizationSecrets(authorization).forEach(registerSecret);
      const params = init?.body instanceof URLSearchParams ? init.body : new URLSearchParams();
      for (const [name, value] of params) if (!PUBLIC_PARAMS.has(name)) registerSecret(value);
      this.#requestedScope = params.get("scope") ?? this.#requestedScope;
      const response = await fetch(url, init);
      const body = await peekJson(response);
      if (response.ok) assertFewValues(body);
      if (body === undefined || init?.method !== "POST") return response;
      if (response.ok) assertUsable(body);
      for (const name of SECRET_FIELDS) {
        const value = body[name];
        if (typeof value === "string") registerSecret(value);
      }
      return response;
    };
  }
}

function toScopeNames(scope: unknown): string[] {
  return typeof scope === "string" ? scope.split(" ").filter((name) => name !== "") : [];
}

/** More than any login needs, and less than browsers accept. */
const MAX_LOGIN_URL_LENGTH = 16_384;

/** An application opens the URL: other schemes could start other programs. */
function assertLoginUrl({ protocol, href }: URL): void {
  if (protocol !== "https:" && protocol !== "http:")
    throw new Error(
      "The login page of the authorization server has a URL that starts with neither https:// nor http://.",
    );
  if (href.length > MAX_LOGIN_URL_LENGTH)
    throw new Error(
      `The URL of the login has ${href.length} characters; ${MAX_LOGIN_URL_LENGTH} are allowed.`,
    );
}

type RegisterSecret = (secret: string) => void;

/** The parameters of token requests that are not secret. */
const PUBLIC_PARAMS: ReadonlySet<string> = new Set([
  "grant_type",
  "client_id",
  "scope",
  "resource",
  "audience",
  "redirect_uri",
  "requested_token_type",
  "subject_token_type",
  "client_assertion_type",
]);
/** The fields of token and registration responses that are secret. */
const SECRET_FIELDS = [
  "access_token",
  "refresh_token",
  "id_token",
  "client_secret",
  "registration_access_token",
];

/** More than the metadata of any server has, with all of its scopes and claims. */
const MAX_RESPONSE_VALUES = 10_000;

/** The SDK validates the response, and creates an issue for each value that is invalid. */
function assertFewValues(body: JsonObject | undefined): void {
  if (hasMoreValuesThan(body, MAX_RESPONSE_VALUES))
    throw new Error(
      `The authorization server returned an invalid response: it has more than ${MAX_RESPONSE_VALUES} values.`,
    );
}

/** More than any token has, and more than servers accept in a header. */
const MAX_LENGTHS = { access_token: 65_536, client_id: 4_096 };

/** Rejects what cannot be used, before it is saved: it would be read for every request, and never be replaced. */
function assertUsable(body: JsonObject): void {
  for (const [name, maxLength] of Object.entries(MAX_LENGTHS)) {
    const value = body[name];
    if (typeof value === "string" && value.length > maxLength)
      throw new Error(
        `The authorization server returned an invalid ${name}: it exceeds ${maxLength} characters.`,
      );
  }
  const { access_token: token } = body;
  if (typeof token !== "string") return;
  const isHeader = HEADERS_SCHEMA.safeParse({ authorization: `Bearer ${token}` }).success;
  if (!isSingleToken(token) || !isHeader)
    throw new Error("The authorization server returned an access_token that cannot be sent in a header.");
}

/** The credentials of an `Authorization` header and, with basic authentication, the password. */
function collectAuthorizationSecrets(header: string): string[] {
  const [, encoded] = /^basic\s+(\S+)$/i.exec(header) ?? [];
  if (encoded === undefined) return [header];
  const [, ...password] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return [header, password.join(":"), tryDecodeURIComponent(password.join(":"))];
}

async function parseChallenge(response: ResponseHead): Promise<Challenge> {
  const header = getWwwAuthenticate(response);
  if (header === "") return {};
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/sdk/client/auth.js");
  // The SDK reads the parameters of the Bearer scheme only.
  const value = header.replace(/^\s*DPoP\b/i, "Bearer");
  const params = extractWWWAuthenticateParams(new Response(null, { headers: { "www-authenticate": value } }));
  const acceptsDpop = /(?:^|,)\s*DPoP\b/i.test(header) ? true : undefined;
  return omitUndefined({ ...params, acceptsDpop });
}

/** Methods are bound to the user's object, because they may use private fields. */
function wrapProvider(provider: OAuthProvider, overrides: Partial<OAuthProvider>): OAuthProvider {
  return new Proxy(provider, {
    get: (target, key) => {
      if (Object.hasOwn(overrides, key)) return Reflect.get(overrides, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function withoutRefreshToken(provider: OAuthProvider): OAuthProvider {
  return wrapProvider(provider, {
    tokens: async () => {
      const { refresh_token: _, ...tokens } = (await provider.tokens()) ?? {};
      return "access_token" in tokens ? tokens : undefined;
    },
  });
}

/** A rejected token, and how to obtain another one. */
interface Renewal {
  readonly source: TokenSource;
  readonly used: string | undefined;
  readonly response: ResponseHead;
  readonly authorize: () => Promise<void>;
}

/** A refresh token that has failed in the background. */
interface FailedRefresh {
  readonly refreshToken: string;
  readonly delayMs: number;
  /** When it may be tried again in the background, in clock time. */
  readonly retryAt: number;
}

const MIN_REFRESH_DELAY_MS = 10_000;
const MAX_REFRESH_DELAY_MS = 300_000;

/** A refresh without a login has failed; a call that waited for it may still start one. */
class RefreshFailed extends Error {}

function failRefresh(): never {
  throw new RefreshFailed();
}

/** Only refreshes tokens: fails before the SDK registers a client, discards credentials or starts a login. */
function withoutLogin(provider: OAuthProvider, onRejected: () => void): OAuthProvider {
  const invalidateCredentials = () => {
    onRejected();
    failRefresh();
  };
  const overrides = { saveClientInformation: undefined, invalidateCredentials, state: failRefresh };
  return wrapProvider(provider, overrides as unknown as Partial<OAuthProvider>);
}

/** Ends a renewal: the provider has received other tokens in the meantime. */
class TokensReplaced extends Error {}

/**
 * Keeps the tokens that another process has stored since the refresh token was read: most refresh tokens work once, so
 * a rejected one may already have a valid successor. Tokens without a scope have the requested one (RFC 6749, 5.1) or, after
 * a refresh, that of the tokens before: it is stored, because a wider scope has to include it, also in another process.
 */
function keepReplacedTokens(
  provider: OAuthProvider,
  getRequestedScope: () => string | undefined,
): OAuthProvider {
  // Read before a refresh only.
  let used: OAuthTokens | undefined;
  return wrapProvider(provider, {
    tokens: async () => {
      used = await provider.tokens();
      return used;
    },
    saveTokens: async (tokens: OAuthTokens) => {
      const scope = tokens.scope || (used === undefined ? getRequestedScope() : used.scope);
      await provider.saveTokens({ ...tokens, ...omitUndefined({ scope }) } as never);
    },
    invalidateCredentials: async (scope: string) => {
      const current = scope === "tokens" && used !== undefined ? await provider.tokens() : undefined;
      if (current !== undefined && current.access_token !== used?.access_token) throw new TokensReplaced();
      await provider.invalidateCredentials?.(scope as never);
    },
  });
}

/** Why a rejected request may succeed with other credentials. */
export type ChallengeReason = "token" | "scope" | "dpop";

/**
 * Errors of the DPoP proof, which may be expired or lack the server's nonce. The token itself was not
 * checked.
 */
const DPOP_ERRORS = /\b(?:use_dpop_nonce|invalid_dpop_proof)\b/;
const INVALID_DPOP_PROOF = /\binvalid_dpop_proof\b/;

/** Limits the retries of one request to one per challenge reason. */
export class ChallengeTracker {
  readonly #tried = new Set<ChallengeReason>();

  /**
   * Returns why to retry, or undefined when the response is final. If the DPoP proof is rejected again and the
   * token was issued elsewhere, the token may be bound to another key: not all servers report that as such.
   */
  nextReason(
    head: ResponseHead,
    { issuedElsewhere = false }: { readonly issuedElsewhere?: boolean | undefined },
  ) {
    const reported = parseReason(head);
    const isStillInvalid =
      reported === "dpop" && this.#tried.has("dpop") && INVALID_DPOP_PROOF.test(getWwwAuthenticate(head));
    const reason = isStillInvalid && issuedElsewhere ? "token" : reported;
    if (reason === undefined || this.#tried.has(reason)) return undefined;
    this.#tried.add(reason);
    return reason;
  }
}

function parseReason(head: ResponseHead): ChallengeReason | undefined {
  if (head.status === 401) return DPOP_ERRORS.test(getWwwAuthenticate(head)) ? "dpop" : "token";
  return head.status === 403 ? "scope" : undefined;
}

/** Returns the `WWW-Authenticate` header, or an empty string. */
function getWwwAuthenticate({ headers }: ResponseHead): string {
  const value = headers["www-authenticate"] ?? "";
  return typeof value === "string" ? value : value.join(", ");
}
