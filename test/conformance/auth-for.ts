import {
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
} from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import type { OAuthProvider } from "langchain-mcp-runtime";
import { CrossAppAccessProvider } from "./cross-app-access-provider.js";
import { LoginProvider } from "./login-provider.js";

/** What proves who the client is, as each scenario wants it. */
export function authFor(
  scenario: string,
  context: Readonly<Record<string, string>>,
): OAuthProvider | undefined {
  if (!scenario.startsWith("auth/")) return undefined;
  const { client_id: clientId = "", client_secret: clientSecret = "" } = context;
  switch (scenario) {
    case "auth/client-credentials-basic":
      return new ClientCredentialsProvider({ clientId, clientSecret });
    case "auth/client-credentials-jwt": {
      const { private_key_pem: privateKey = "", signing_algorithm: algorithm = "" } = context;
      return new PrivateKeyJwtProvider({ clientId, privateKey, algorithm });
    }
    case "auth/cross-app-access-complete-flow":
      return new CrossAppAccessProvider(context);
    case "auth/pre-registration":
      return new LoginProvider({ information: { client_id: clientId, client_secret: clientSecret } });
    case "auth/basic-cimd":
      return new LoginProvider({ metadataUrl: "https://conformance-test.local/client-metadata.json" });
    default:
      return new LoginProvider();
  }
}
