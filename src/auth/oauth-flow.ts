import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthProvider, OAuthTokens } from "../config/oauth-provider.js";
import { secretsOfGrant, secretsOfHeader } from "../config/collect-secrets.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/sanitize-text.js";
import type { Dpop } from "./dpop.js";
import { GrantedTokens } from "./grant-token-source.js";
import type { ResponseHead } from "../net/http-request.js";
import { withIssuerCheck } from "./issuer-validation.js";
import { knownDiscovery } from "./cached-discovery.js";
import { challengeIn } from "./auth-challenge.js";
import type { SideFetch } from "../net/auth-fetch.js";
import { withDpop } from "./with-dpop.js";

interface OAuthFlowParts {
  readonly server: string;
  readonly url: URL;
  readonly redactor: Redactor;
  readonly fetch: SideFetch;
  readonly dpop: Dpop;
}

/** Where the tokens of one identity are: with the user's own provider, or with us. */
export type TokenSource = OAuthProvider | GrantedTokens;

/** What a person came back with from a login. */
export interface FinishedLogin {
  readonly code: string;
  /** All of it, where it is known. */
  readonly params: URLSearchParams | undefined;
}

/** What a server said about the token it wants. */
interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
  readonly error?: string | undefined;
  /** Whether it takes tokens that are bound to a key. */
  readonly takesBound?: boolean | undefined;
}

/**
 * Gets tokens for one identity with the SDK's `auth()`. However many requests are refused together
 * with one token, it is renewed once: refresh tokens often work only once, and a second use of one
 * can log the user out.
 */
export class OAuthFlow {
  readonly #parts: OAuthFlowParts;
  readonly #running = new Map<string, Promise<void>>();
  #challenge: Challenge = {};

  constructor(parts: OAuthFlowParts) {
    this.#parts = parts;
  }

  /** Whether another token is there. Throws when a person has to log in, or nothing helps. */
  async renew(source: TokenSource, used: string | undefined, refusal: ResponseHead): Promise<boolean> {
    const challenge = await challengeOf(refusal);
    const needsScope = refusal.status === 403;
    if (needsScope && challenge.error !== "insufficient_scope") return false;
    this.#challenge = { ...this.#challenge, ...challenge };
    await this.#once(`${challenge.scope ?? ""} ${used ?? ""}`, async () => {
      const { access_token: current } = (await this.tokensOf(source)) ?? {};
      if (current !== undefined && current !== used) return;
      const { refresh_token: refresh } = (await source.tokens()) ?? {};
      if (refresh !== undefined) this.#keepSecret(refresh);
      if (source instanceof GrantedTokens) await this.#request(source, refusal.status);
      // A refreshed token has the scope of the one before: for more, the user has to be asked.
      else await this.#authorize(needsScope ? withoutRefreshToken(source) : source, refusal.status);
    });
    return true;
  }

  /** Those that may be used: where tokens have to be bound, others are none. */
  async tokensOf(source: TokenSource): Promise<OAuthTokens | undefined> {
    const { dpop } = this.#parts;
    const tokens = await source.tokens();
    const isOfNoUse = dpop.isRequired && tokens?.access_token !== undefined && !dpop.isBound(tokens);
    return isOfNoUse ? undefined : tokens;
  }

  /** Exchanges the code that a person came back with for tokens. */
  async finish(provider: OAuthProvider, login: FinishedLogin): Promise<void> {
    await this.#once(`code ${login.code}`, () => this.#authorize(provider, 401, login));
  }

  async #once(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key) ?? work().finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    await running;
  }

  /** Nobody has to log in for it. */
  async #request(tokens: GrantedTokens, status: number): Promise<void> {
    const { url: serverUrl, fetch, dpop } = this.#parts;
    const { resourceMetadataUrl, scope, takesBound = false } = this.#challenge;
    const keepSecret = (secret: string) => this.#keepSecret(secret);
    for (const secret of secretsOfGrant(tokens.grant)) keepSecret(secret);
    const request = {
      serverUrl,
      resourceMetadataUrl,
      scope,
      fetch: withDpop(fetch.fetch, dpop, { isAskedFor: takesBound }),
      plainFetch: fetch.fetch,
      signal: fetch.limit(),
      keepSecret,
    };
    await tokens.renew(request).catch((error: unknown) => {
      throw this.#failure(error, status);
    });
  }

  #keepSecret(secret: string): void {
    this.#parts.redactor.addPassing(secret, secretsOfHeader);
  }

  #failure(error: unknown, status: number): McpRuntimeError {
    const { server, redactor } = this.#parts;
    const said = quoteServer(redactor.text(wordsOf(error)));
    const text = `Server "${server}" wants a token, and none could be got: ${said}`;
    return new McpRuntimeError("unauthorized", text, { server, status, cause: redactor.cause(error) });
  }

  async #authorize(provider: OAuthProvider, status: number, login?: FinishedLogin): Promise<void> {
    const { server } = this.#parts;
    let authorizationUrl: string | undefined;
    const watched = watch(provider, (address) => {
      authorizationUrl = address.href;
    });
    const result = await this.#auth(watched, login).catch((error: unknown) => {
      throw this.#failure(error, status);
    });
    if (result === "AUTHORIZED") return;
    const text = `Server "${server}" needs somebody to log in: open the error's authorizationUrl, then pass the code to client.finishAuth(code).`;
    throw new McpRuntimeError("unauthorized", text, { server, status, authorizationUrl });
  }

  async #auth(provider: OAuthProvider, login: FinishedLogin | undefined): Promise<"AUTHORIZED" | "REDIRECT"> {
    const { url, fetch, dpop } = this.#parts;
    const { resourceMetadataUrl, scope, takesBound: isAskedFor = false } = this.#challenge;
    const { auth } = await import("@modelcontextprotocol/sdk/client/auth.js");
    const known = await knownDiscovery(provider);
    const checked = withIssuerCheck(fetch.fetch, login?.params, known);
    return auth(provider as unknown as OAuthClientProvider, {
      serverUrl: url,
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
      ...(scope === undefined ? {} : { scope }),
      ...(login === undefined ? {} : { authorizationCode: login.code }),
      fetchFn: withDpop(checked, dpop, { isAskedFor, known }),
    });
  }
}

/** Many authorization servers say a code, such as `invalid_grant`, and nothing else. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code: unknown = Reflect.get(error, "errorCode");
  const words = [typeof code === "string" ? code : "", error.message];
  return words.filter((word) => word !== "").join(": ");
}

async function challengeOf(refusal: ResponseHead): Promise<Challenge> {
  const given = challengeIn(refusal);
  if (given === "") return {};
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/sdk/client/auth.js");
  // The SDK reads what comes after one word only.
  const value = given.replace(/^\s*DPoP\b/i, "Bearer");
  const found = extractWWWAuthenticateParams(new Response(null, { headers: { "www-authenticate": value } }));
  const takesBound = /(?:^|,)\s*DPoP\b/i.test(given) ? true : undefined;
  return Object.fromEntries(
    Object.entries({ ...found, takesBound }).filter(([, field]) => field !== undefined),
  );
}

/** The user's own object does the work: methods run on it, with whatever private fields it has. */
function standIn(provider: OAuthProvider, own: Partial<OAuthProvider>): OAuthProvider {
  return new Proxy(provider, {
    get: (target, key) => {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function watch(provider: OAuthProvider, onRedirect: (address: URL) => void): OAuthProvider {
  return standIn(provider, {
    redirectToAuthorization: async (address) => {
      onRedirect(address);
      await provider.redirectToAuthorization(address);
    },
  });
}

function withoutRefreshToken(provider: OAuthProvider): OAuthProvider {
  return standIn(provider, {
    tokens: async () => {
      const { refresh_token: _, ...tokens } = (await provider.tokens()) ?? {};
      return "access_token" in tokens ? tokens : undefined;
    },
  });
}
