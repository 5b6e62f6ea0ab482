import type { ParsedGrant } from "../config/auth-grant.js";
import type { OAuthTokens } from "../config/oauth-provider.js";
import { fetchGrantedTokens, type GrantRequest } from "./request-grant-tokens.js";

/** The tokens of one identity that are got by a grant, without anybody's login. Kept in memory only. */
export class GrantedTokens {
  /** As it was last given: what a function gives may hold another proof each time. */
  grant: ParsedGrant;
  #tokens: OAuthTokens | undefined;

  constructor(grant: ParsedGrant) {
    this.grant = grant;
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens;
  }

  async renew(request: GrantRequest): Promise<void> {
    this.#tokens = await fetchGrantedTokens(this.grant, request);
  }
}
