import type { OAuthProvider, OAuthTokens } from "../../src/index.js";

/** Keeps everything in memory; logging in is the test's part. */
export class MemoryOAuthProvider implements OAuthProvider {
  readonly redirectUrl = "http://127.0.0.1/callback";
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: "test" };
  readonly redirects: URL[] = [];
  #tokens: OAuthTokens | undefined;
  #verifier = "";

  clientInformation(): object {
    return { client_id: "test-client" };
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(authorizationUrl: URL): void {
    this.redirects.push(authorizationUrl);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  invalidateCredentials(): void {
    this.#tokens = undefined;
  }
}

/** Remembers also where tokens come from, so that nobody is asked about it a second time. */
export class RememberingOAuthProvider extends MemoryOAuthProvider {
  #state: object | undefined;

  discoveryState(): object | undefined {
    return this.#state;
  }

  saveDiscoveryState(state: object): void {
    this.#state = state;
  }
}
