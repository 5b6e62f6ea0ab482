import { KnownTools } from "../catalogue/known-tools.js";
import type { McpClient } from "../client/mcp-client.js";
import type { JsonObject } from "../definitions/json.js";
import type { ToolOffer } from "../tools/create-tools.js";
import type { ToolCaller } from "../tools/tool-parts.js";
import { RuleSet } from "../tools/tool-policy.js";

interface OfferParts {
  readonly client: McpClient;
  readonly caller: ToolCaller;
  readonly tools: ToolOffer["tools"];
  readonly metadata: JsonObject;
}

/** What a client's server offers, with what its definition says of its tools: the one place where rules come in. */
export function toolOffer({ client, ...parts }: OfferParts): ToolOffer {
  const { tools: rules, trustAnnotations } = client.toolPolicy;
  const knownTools = new KnownTools(client);
  return { ...parts, server: client.name, knownTools, rules: new RuleSet(rules), trustAnnotations };
}
