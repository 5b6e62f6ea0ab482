import type { OAuthProvider, OAuthTokens } from "langchain-mcp-runtime";

interface LoginProviderOptions {
  /** The client information of a pre-registered client. */
  readonly information?: object;
  /** The URL of a client ID metadata document, for servers that accept it instead of a registration. */
  readonly metadataUrl?: string;
}

/** An in-memory OAuth provider for interactive logins. */
export class LoginProvider implements OAuthProvider {
  readonly redirectUrl = "http://localhost:3000/callback";
  readonly clientMetadata = {
    client_name: "langchain-mcp-runtime conformance client",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    application_type: "native",
  };
  readonly clientMetadataUrl: string | undefined;
  #information: object | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = "";

  constructor({ information, metadataUrl }: LoginProviderOptions = {}) {
    this.#information = information;
    this.clientMetadataUrl = metadataUrl;
  }

  clientInformation(): object | undefined {
    return this.#information;
  }

  saveClientInformation(information: object): void {
    this.#information = information;
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(): void {
    // The error contains the URL as well; `withLogins` opens it from there.
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}
