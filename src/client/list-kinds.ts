import {
  type McpPromptInfo,
  type McpResourceInfo,
  type McpResourceTemplateInfo,
  parsePromptInfo,
  parseResourceInfo,
  parseResourceTemplateInfo,
} from "../config/resource-info.js";
import { type McpToolInfo, parseToolInfo } from "../config/tool-info.js";
import type { ListKind } from "./fetch-all-pages.js";

/** Everything that servers list. */
export const LIST_KINDS = {
  tools: {
    method: "tools/list",
    key: "tools",
    noun: "tool",
    capability: "tools",
    parse: (value) => {
      const parsed = parseToolInfo(value);
      return "problem" in parsed ? parsed : { item: parsed.tool };
    },
    idOf: ({ name }) => name,
  } satisfies ListKind<McpToolInfo>,
  resources: {
    method: "resources/list",
    key: "resources",
    noun: "resource",
    capability: "resources",
    parse: parseResourceInfo,
    idOf: ({ uri }) => uri,
  } satisfies ListKind<McpResourceInfo>,
  resourceTemplates: {
    method: "resources/templates/list",
    key: "resourceTemplates",
    noun: "resource template",
    capability: "resources",
    parse: parseResourceTemplateInfo,
    idOf: ({ uriTemplate }) => uriTemplate,
  } satisfies ListKind<McpResourceTemplateInfo>,
  prompts: {
    method: "prompts/list",
    key: "prompts",
    noun: "prompt",
    capability: "prompts",
    parse: parsePromptInfo,
    idOf: ({ name }) => name,
  } satisfies ListKind<McpPromptInfo>,
} as const;
