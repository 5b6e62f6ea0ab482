import { KnownTools } from "../catalogue/known-tools.js";
import type { ToolSource } from "../catalogue/tool-source.js";
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

/** What one user is offered tells nothing about another's tools. */
const UNTOLD: ToolSource = {
  listTools: () => Promise.reject(new Error("Each user has a list of their own.")),
};

/** What a client's server offers, with what its definition says of its tools: the one place where rules come in. */
export function toolOffer({ client, ...parts }: OfferParts): ToolOffer {
  const { tools: rules, trustAnnotations } = client.toolPolicy;
  const knownTools = new KnownTools(client.isShared ? client : UNTOLD);
  return { ...parts, server: client.name, knownTools, rules: new RuleSet(rules), trustAnnotations };
}
