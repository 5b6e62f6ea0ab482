import type { McpClient } from "../client/mcp-client.js";
import type { JsonObject } from "../definitions/json.js";
import type { ToolOffer } from "../tools/create-tools.js";
import type { ToolCaller } from "../tools/tool-parts.js";
import { RuleSet } from "../tools/tool-policy.js";

/** What a client's server offers, with what its definition says of its tools: the one place where rules come in. */
export function toolOffer(
  client: McpClient,
  caller: ToolCaller,
  tools: ToolOffer["tools"],
  metadata: JsonObject,
): ToolOffer {
  const { tools: rules, trustAnnotations } = client.toolPolicy;
  return { server: client.name, caller, tools, rules: new RuleSet(rules), trustAnnotations, metadata };
}
