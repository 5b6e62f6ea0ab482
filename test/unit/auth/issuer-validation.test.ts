import { describe, expect, it } from "vitest";
import { withIssuerCheck } from "../../../src/auth/issuer-validation.js";

const RESOURCE = "https://mcp.test/.well-known/oauth-protected-resource";
const METADATA = "https://as.test/.well-known/oauth-authorization-server/tenant";

/** Answers everything with these metadata. */
function read(metadata: object, login?: string) {
  const fetch = withIssuerCheck(
    async () => Response.json(metadata),
    login === undefined ? undefined : new URLSearchParams(login),
  );
  return { resource: () => fetch(RESOURCE), metadata: () => fetch(METADATA) };
}

describe("what is read about an authorization server", () => {
  it("must be about that server, where a resource has named it; a slash at the end does not count", async () => {
    for (const issuer of ["https://as.test/tenant", "https://as.test/tenant/"]) {
      const own = read({ issuer });
      await own.resource();
      await expect(own.metadata()).resolves.toBeInstanceOf(Response);
    }
    const other = read({ issuer: "https://evil.test/tenant" });
    await expect(other.metadata()).resolves.toBeInstanceOf(Response);
    await other.resource();
    await expect(other.metadata()).rejects.toThrow("another issuer");
  });

  it.each([
    ["says where it comes from", "code=1&iss=https://as.test/tenant", true, undefined],
    ["comes from elsewhere", "code=1&iss=https://evil.test", false, "another authorization server"],
    ["is spelled differently", "code=1&iss=https://as.test/tenant/", false, "another authorization server"],
    ["says nothing, where that is usual", "code=1", false, undefined],
    ["says nothing, where it should", "code=1", true, "(iss)"],
  ])("a login that %s", async (_, login, saysIssuer, problem) => {
    const issuer = "https://as.test/tenant";
    const metadata = { issuer, authorization_response_iss_parameter_supported: saysIssuer };
    const reading = read(metadata, login).metadata();
    if (problem === undefined) await expect(reading).resolves.toBeInstanceOf(Response);
    else await expect(reading).rejects.toThrow(problem);
  });
});
