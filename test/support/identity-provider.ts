import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type SigningKey, signingKey, signJwt, verifiedJwt } from "./jwt.js";

const TOKEN_TYPE = "urn:ietf:params:oauth:token-type";
const soon = () => Math.floor(Date.now() / 1000) + 300;

/** A company's identity provider: says who somebody is, and exchanges that for grants (ID-JAG). */
export class IdentityProvider implements AsyncDisposable {
  readonly key: SigningKey = signingKey();
  /** What was posted, in order. */
  readonly exchanges: URLSearchParams[] = [];
  /** What it does not let anybody use. */
  readonly refusedAudiences = new Set<string>();
  /** What it says then. */
  words = "not for you";
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const [status, body] = this.#exchange(new URLSearchParams(Buffer.concat(chunks).toString("utf8")));
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      });
    });
  }

  static async start(): Promise<IdentityProvider> {
    const provider = new IdentityProvider();
    await new Promise<void>((resolve) => provider.#server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  get tokenEndpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`;
  }

  /** What a user has after a login. */
  idTokenOf(user: string): string {
    return signJwt(this.key, { sub: user, aud: "agents", exp: soon() });
  }

  /** What a platform gives a workload. */
  workloadToken(audience: string, claims: object = {}): string {
    return signJwt(this.key, { sub: "billing-job", aud: audience, exp: soon(), ...claims });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #exchange(params: URLSearchParams): [status: number, body: object] {
    this.exchanges.push(params);
    const said = verifiedJwt(params.get("subject_token") ?? "", this.key.publicKey)?.claims;
    const isAsked =
      params.get("requested_token_type") === `${TOKEN_TYPE}:id-jag` && params.get("client_id") === "agents";
    if (said === undefined || !isAsked) return [400, { error: "invalid_request" }];
    const audience = params.get("audience") ?? "";
    if (this.refusedAudiences.has(audience))
      return [400, { error: "access_denied", error_description: this.words }];
    const claims = { sub: said["sub"], aud: audience, resource: params.get("resource"), exp: soon() };
    const jag = signJwt(this.key, claims, { typ: "oauth-id-jag+jwt" });
    return [200, { access_token: jag, issued_token_type: `${TOKEN_TYPE}:id-jag`, token_type: "N_A" }];
  }
}
