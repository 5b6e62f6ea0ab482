import type { McpClient } from "../client/mcp-client.js";
import type { ToolOffer } from "../tools/create-tools.js";
import { RuleSet } from "../tools/tool-policy.js";

interface OfferParts extends Omit<ToolOffer, "server" | "rules" | "trustAnnotations"> {
  readonly client: McpClient;
}

/** What a client's server offers, with what its definition says of its tools: the one place where rules come in. */
export function toolOffer({ client, ...parts }: OfferParts): ToolOffer {
  const { tools: rules, trustAnnotations } = client.toolPolicy;
  return { ...parts, server: client.name, rules: new RuleSet(rules), trustAnnotations };
}
