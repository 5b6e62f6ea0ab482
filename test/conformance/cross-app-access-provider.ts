import type { OAuthProvider, OAuthTokens } from "langchain-mcp-runtime";

interface Discovered {
  readonly authorizationServerUrl: string;
  readonly resourceMetadata?: { readonly resource?: string } | undefined;
}

/**
 * Cross-app access (SEP-990): somebody who has logged in to their company's identity provider needs no
 * login of their own for the server. The provider's word for who they are is exchanged for a grant, and
 * the grant for a token.
 */
export class CrossAppAccessProvider implements OAuthProvider {
  readonly redirectUrl = undefined;
  readonly clientMetadata = { client_name: "langchain-mcp-runtime conformance client", redirect_uris: [] };
  readonly #context: Readonly<Record<string, string>>;
  #tokens: OAuthTokens | undefined;
  #discovered: Discovered | undefined;

  constructor(context: Readonly<Record<string, string>>) {
    this.#context = context;
  }

  clientInformation(): object {
    const { client_id, client_secret } = this.#context;
    return { client_id, client_secret };
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens;
  }

  saveDiscoveryState(discovered: Discovered): void {
    this.#discovered = discovered;
  }

  async prepareTokenRequest(): Promise<URLSearchParams> {
    const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    return new URLSearchParams({ grant_type, assertion: await this.#fetchGrant() });
  }

  redirectToAuthorization(): void {
    throw new Error("Nobody logs in here.");
  }

  saveCodeVerifier(): void {
    throw new Error("Nobody logs in here.");
  }

  codeVerifier(): string {
    throw new Error("Nobody logs in here.");
  }

  async #fetchGrant(): Promise<string> {
    const { idp_token_endpoint = "", idp_id_token = "", idp_client_id = "" } = this.#context;
    const response = await fetch(idp_token_endpoint, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
        subject_token: idp_id_token,
        client_id: idp_client_id,
        audience: this.#discovered?.authorizationServerUrl ?? "",
        resource: this.#discovered?.resourceMetadata?.resource ?? "",
      }),
    });
    if (!response.ok) throw new Error(`The identity provider answered ${response.status}.`);
    return ((await response.json()) as { access_token: string }).access_token;
  }
}
