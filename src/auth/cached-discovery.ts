import type { JsonObject } from "../json/json.js";
import type { OAuthProvider } from "../config/oauth-provider.js";

/** What a provider remembers of whom tokens come from. The SDK asks nobody about it again. */
export interface KnownDiscovery {
  readonly place?: string;
  /** What the MCP server said, and what the authorization server. */
  readonly resource?: JsonObject | undefined;
  readonly issuer?: JsonObject | undefined;
}

export async function knownDiscovery(provider: OAuthProvider): Promise<KnownDiscovery> {
  const state = objectOf(await provider.discoveryState?.());
  const { authorizationServerUrl: url, resourceMetadata, authorizationServerMetadata } = state ?? {};
  const place = url instanceof URL ? url.href : url;
  // As for the SDK: without it, all of it is asked for anew.
  if (typeof place !== "string" || place === "") return {};
  return {
    place,
    resource: objectOf(resourceMetadata),
    issuer: objectOf(authorizationServerMetadata),
  };
}

function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}
