import { describe, expect, it } from "vitest";
import { withIssuerValidation } from "../../../src/auth/issuer-validation.js";

const RESOURCE = "https://mcp.test/.well-known/oauth-protected-resource";
const METADATA = "https://as.test/.well-known/oauth-authorization-server/tenant";

/** Every request returns this metadata. */
function createFetches(metadata: object, callback?: string) {
  const fetch = withIssuerValidation(
    async () => Response.json(metadata),
    callback === undefined ? undefined : new URLSearchParams(callback),
  );
  return { resource: () => fetch(RESOURCE), metadata: () => fetch(METADATA) };
}

describe("withIssuerValidation", () => {
  it("rejects metadata of another issuer after a resource named one, ignoring a trailing slash", async () => {
    for (const issuer of ["https://as.test/tenant", "https://as.test/tenant/"]) {
      const same = createFetches({ issuer });
      await same.resource();
      await expect(same.metadata()).resolves.toBeInstanceOf(Response);
    }
    const other = createFetches({ issuer: "https://evil.test/tenant" });
    await expect(other.metadata()).resolves.toBeInstanceOf(Response);
    await other.resource();
    await expect(other.metadata()).rejects.toThrow("another issuer");
  });

  it.each([
    ["with the right iss is accepted", "code=1&iss=https://as.test/tenant", true, undefined],
    ["with another iss is rejected", "code=1&iss=https://evil.test", false, "another authorization server"],
    [
      "with a different spelling of iss is rejected",
      "code=1&iss=https://as.test/tenant/",
      false,
      "another authorization server",
    ],
    ["without iss is accepted if the server sends none", "code=1", false, undefined],
    ["without iss is rejected if the server sends one", "code=1", true, "does not name"],
  ])("a login response %s", async (_, callback, returnsIss, problem) => {
    const issuer = "https://as.test/tenant";
    const metadata = { issuer, authorization_response_iss_parameter_supported: returnsIss };
    const response = createFetches(metadata, callback).metadata();
    if (problem === undefined) await expect(response).resolves.toBeInstanceOf(Response);
    else await expect(response).rejects.toThrow(problem);
  });
});
