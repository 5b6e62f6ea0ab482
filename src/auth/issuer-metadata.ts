import { ISSUER_METADATA } from "../config/auth-grant-schema.js";
import { zodToIssues } from "../config/zod-issues.js";
import { isSameIssuer } from "./issuer-validation.js";
import type { SideFetch } from "../net/auth-fetch.js";

export type IssuerMetadata = ReturnType<(typeof ISSUER_METADATA)["parse"]>;

/** The proof is only shown to whom the definition names, so what is read has to be about them. */
export async function fetchIssuerMetadata(issuer: URL, fetch: SideFetch["fetch"]): Promise<IssuerMetadata> {
  const parsed = ISSUER_METADATA.safeParse(await documentOf(issuer, fetch));
  if (!parsed.success) {
    const issues = zodToIssues(parsed.error).map(({ path, message }) => `${path}: ${message}`);
    throw new Error(`The metadata of the authorization server cannot be used: ${issues.join("; ")}`);
  }
  if (!isSameIssuer(parsed.data.issuer, issuer.href))
    throw new Error("The metadata of the authorization server is about another issuer than auth.issuer.");
  return parsed.data;
}

/** From the first of the places where it may be. */
async function documentOf(issuer: URL, fetch: SideFetch["fetch"]): Promise<unknown> {
  const { buildDiscoveryUrls } = await import("@modelcontextprotocol/sdk/client/auth.js");
  const { fetchWithinOrigin } = await import("@modelcontextprotocol/sdk/shared/transport.js");
  const get = fetchWithinOrigin(fetch);
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const response = await get(url, { headers: { accept: "application/json" } });
    if (response.ok) return response.json();
    if (response.status >= 500)
      throw new Error(`The authorization server answered ${response.status} when asked for its metadata.`);
  }
  throw new Error(`There is no metadata of an authorization server at ${issuer.href} (auth.issuer).`);
}
