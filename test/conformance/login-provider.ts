import type { OAuthProvider, OAuthTokens } from "langchain-mcp-runtime";

interface LoginProviderOptions {
  /** What the client is known by where it was registered before. */
  readonly information?: object;
  /** The address of a document about the client, for servers that take it in place of a registration. */
  readonly metadataUrl?: string;
}

/** A client for people who log in. Everything is kept in memory. */
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
    // The address also comes with the failure, and is opened there.
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}
