import {
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
} from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import type { AuthGrant, OAuthProvider } from "langchain-mcp-runtime";
import { LoginProvider } from "./login-provider.js";

/** Creates the `auth` option that a scenario requires. */
export async function createAuth(
  scenario: string,
  url: string,
  context: Readonly<Record<string, string>>,
): Promise<OAuthProvider | AuthGrant | undefined> {
  if (!scenario.startsWith("auth/")) return undefined;
  const { client_id: clientId = "", client_secret: clientSecret = "" } = context;
  switch (scenario) {
    case "auth/client-credentials-basic":
      return new ClientCredentialsProvider({ clientId, clientSecret });
    case "auth/client-credentials-jwt": {
      const { private_key_pem: privateKey = "", signing_algorithm: algorithm = "" } = context;
      return new PrivateKeyJwtProvider({ clientId, privateKey, algorithm });
    }
    case "auth/wif-jwt-bearer": {
      const { valid_jwt: assertion = "" } = context;
      return { grant: "jwt-bearer", issuer: await fetchIssuer(url), clientId, assertion };
    }
    case "auth/cross-app-access-complete-flow":
    case "auth/enterprise-managed-authorization": {
      const {
        idp_token_endpoint: tokenEndpoint = "",
        idp_client_id = "",
        idp_id_token: idToken = "",
      } = context;
      const identityProvider = { tokenEndpoint, clientId: idp_client_id };
      const issuer = await fetchIssuer(url);
      return { grant: "enterprise-managed", issuer, clientId, clientSecret, idToken, identityProvider };
    }
    case "auth/pre-registration":
      return new LoginProvider({ information: { client_id: clientId, client_secret: clientSecret } });
    case "auth/basic-cimd":
      return new LoginProvider({ metadataUrl: "https://conformance-test.local/client-metadata.json" });
    default:
      return new LoginProvider();
  }
}

/** A registered client knows its issuer; the suite does not provide it, so it is read from the metadata. */
async function fetchIssuer(url: string): Promise<string> {
  const { origin, pathname } = new URL(url);
  const response = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: servers } = (await response.json()) as { authorization_servers: string[] };
  return servers[0] ?? "";
}
