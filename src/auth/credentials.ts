import { type AuthGrant, isAuthGrant, type ParsedGrant } from "../config/auth-grant.js";
import { AUTH_GRANT } from "../config/auth-grant-schema.js";
import type { CallContext } from "../config/call-context.js";
import type { CredentialSources, HeaderValues } from "../config/credential-options.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { zodToIssues } from "../config/zod-issues.js";
import { HEADERS } from "../config/header-schema.js";
import type { OAuthTokens } from "../config/oauth-provider.js";
import { PLAIN_WORDS } from "../config/zod-error-map.js";
import { secretsOfHeader } from "../config/collect-secrets.js";
import { type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { GrantedTokens } from "./grant-token-source.js";
import type { ResponseHead, ResponseHeaders } from "../net/http-request.js";
import { type Dpop, DPOP_NONCE } from "./dpop.js";
import type { RefusalReason } from "./auth-challenge.js";
import type { FinishedLogin, OAuthFlow, TokenSource } from "./oauth-flow.js";

/** What proves who asks, as it goes with one request. */
export interface Proof {
  readonly headers: HeaderValues;
  readonly token: string | undefined;
  /** Where it comes from, unless a function gave it. */
  readonly source: TokenSource | undefined;
  /** For a token that is bound to a key: the header `dpop` of one request. */
  readonly proveKey?: ((method: string, url: string | URL) => string) | undefined;
  /** Somebody else got the token, such as the process before this one: it may be bound to another key. */
  readonly isForeign?: boolean | undefined;
}

/** What a server said to a proof, and why another may help. */
interface Refused {
  readonly refusal: ResponseHead;
  readonly reason: RefusalReason;
}

interface CredentialParts {
  readonly server: string;
  readonly url: URL;
  readonly dpop: Dpop;
  readonly sources: CredentialSources;
  readonly redactor: Redactor;
  readonly oauth: OAuthFlow;
}

/**
 * The credentials of one identity. Asked for every request, so that what changes, such as a token,
 * goes with the next one.
 */
export class Credentials {
  readonly #parts: CredentialParts;
  #own: CallContext;
  #granted: GrantedTokens | undefined;

  constructor(parts: CredentialParts) {
    this.#parts = parts;
    this.#own = strangerTo(parts.server);
  }

  /** Who asks now. What the session itself sends goes in that name, but is no part of that call. */
  remember(context: CallContext): void {
    const { toolCall: _, signal: __, ...config } = context.config;
    this.#own = {
      ...context,
      config,
      purpose: "discovery",
      tool: undefined,
      toolCallId: undefined,
      state: undefined,
      signal: undefined,
    };
  }

  /** `context`: the call that the request belongs to; without one it is the session's own. */
  async proof(context: CallContext = this.#own): Promise<Proof> {
    const { sources, dpop } = this.#parts;
    const headers = await this.#headers(context);
    const given = await this.#auth(context);
    const source = typeof given === "object" && given !== null ? given : undefined;
    const tokens = source === undefined ? undefined : await this.#tokensOf(source);
    const isNone = source === undefined ? sources.auth === undefined : tokens?.access_token === undefined;
    if (isNone) return { headers, source, token: undefined };
    const token = this.#checkedToken(source === undefined ? given : tokens?.access_token);
    const isBound = tokens !== undefined && dpop.isBound(tokens);
    const { authorization = "" } = this.#checked({
      authorization: `${isBound ? "DPoP" : "Bearer"} ${token}`,
    });
    const proveKey = (method: string, url: string | URL) => dpop.proof(method, url, token);
    return {
      headers: { ...headers, authorization },
      source,
      token,
      ...(isBound ? { proveKey, isForeign: !dpop.wasGiven(token) } : {}),
    };
  }

  /** Every answer may hold something for the next proof of a key. */
  heard(headers: ResponseHeaders): void {
    const { dpop, url } = this.#parts;
    dpop.heard(url, headers[DPOP_NONCE]);
  }

  /** Another proof that is worth a try after a refusal, if there is one. */
  async renewed(
    used: Proof,
    { refusal, reason }: Refused,
    context?: CallContext,
  ): Promise<Proof | undefined> {
    const { oauth } = this.#parts;
    const { source, token, proveKey } = used;
    // The token was not looked at; what was missing has been heard with the refusal.
    if (proveKey !== undefined && reason === "key") return this.proof(context);
    if (source === undefined) {
      if (refusal.status !== 401) return undefined;
      const next = await this.proof(context);
      return JSON.stringify(next.headers) === JSON.stringify(used.headers) ? undefined : next;
    }
    const isRenewed = await oauth.renew(source, token, refusal);
    return isRenewed ? this.proof(context) : undefined;
  }

  /** Takes what a person came back with. */
  async finish(login: FinishedLogin): Promise<void> {
    const { server, oauth } = this.#parts;
    const source = await this.#auth(this.#own);
    if (typeof source !== "object" || source === null || source instanceof GrantedTokens) {
      const text = `Server "${server}" has no OAuth provider in its definition (auth): there is no login to finish.`;
      throw new McpRuntimeError("invalid-config", text, { server });
    }
    await oauth.finish(source, login);
  }

  async #headers(context: CallContext): Promise<HeaderValues> {
    const { sources, redactor } = this.#parts;
    const { headersOf } = sources;
    if (headersOf === undefined) return {};
    const headers = this.#checked(await this.#ask("headers", headersOf, context));
    for (const value of Object.values(headers)) redactor.addPassing(value, secretsOfHeader);
    return headers;
  }

  /** A token, or where tokens come from. */
  async #auth(context: CallContext): Promise<string | TokenSource | undefined> {
    const { server, sources, dpop } = this.#parts;
    const { auth } = sources;
    if (typeof auth !== "function") return isAuthGrant(auth) ? this.#tokensBy(auth) : auth;
    const given = await this.#ask("auth", auth, context);
    if (typeof given === "string" && dpop.isRequired) {
      const text = `The auth of server "${server}" gave a token, and only what gets tokens can bind them to a key (dpop): give an OAuth provider or a grant.`;
      throw new McpRuntimeError("invalid-config", text, { server });
    }
    if (isAuthGrant(given)) return this.#tokensBy(this.#checkedGrant(given));
    if (typeof given !== "object" || given === null || typeof given.tokens === "function") return given;
    const message = `expected a token, an OAuth provider or a grant, found ${describeValue(given)}`;
    throw this.#wrong("auth", [{ path: "", message }]);
  }

  /** Tokens outlive the proof that they were got with: a function may give another one each time. */
  #tokensBy(grant: ParsedGrant): GrantedTokens {
    this.#granted ??= new GrantedTokens(grant);
    this.#granted.grant = grant;
    return this.#granted;
  }

  /** A function of the user's: what it throws is told as what it is, a missing credential. */
  async #ask<T>(
    name: "headers" | "auth",
    source: (context: CallContext) => T | Promise<T>,
    context: CallContext,
  ): Promise<T> {
    const { server, redactor } = this.#parts;
    try {
      return await source(context);
    } catch (error) {
      if (error instanceof McpRuntimeError) throw error;
      const said = redactor.text(error instanceof Error ? error.message : String(error));
      const text = `The function ${name} of server "${server}" failed: ${said}. Nothing was sent.`;
      throw new McpRuntimeError("unauthorized", text, { server, cause: redactor.cause(error) });
    }
  }

  async #tokensOf(source: TokenSource): Promise<OAuthTokens | undefined> {
    const { oauth } = this.#parts;
    return this.#ask("auth", () => oauth.tokensOf(source), this.#own);
  }

  #checked(headers: unknown): HeaderValues {
    const parsed = HEADERS.safeParse(headers, PLAIN_WORDS);
    if (parsed.success) return parsed.data;
    throw this.#wrong("headers", zodToIssues(parsed.error));
  }

  #checkedGrant(grant: AuthGrant): ParsedGrant {
    const parsed = AUTH_GRANT.safeParse(grant, PLAIN_WORDS);
    if (parsed.success) return parsed.data;
    throw this.#wrong("auth", zodToIssues(parsed.error));
  }

  #wrong(name: "headers" | "auth", issues: readonly ConfigIssue[]): McpRuntimeError {
    const { server } = this.#parts;
    return configError(`What the function ${name} of server "${server}" gave`, issues, { server });
  }

  #checkedToken(token: unknown): string {
    const { server, redactor } = this.#parts;
    if (typeof token !== "string" || token.trim() === "") {
      const text = `The auth of server "${server}" gave no token. Nothing was sent.`;
      throw new McpRuntimeError("unauthorized", text, { server });
    }
    redactor.addPassing(token, secretsOfHeader);
    return token;
  }
}

/** For a server whose credentials are the same for everybody. */
function strangerTo(server: string): CallContext {
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
