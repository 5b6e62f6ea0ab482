import type { McpAgentResource } from "../config/agent-definition.js";
import type { JsonObject } from "../json/json.js";

/** What the tools of an agent resource tell of it. */
export function resourceMetadata({ slug, folderPath }: McpAgentResource): JsonObject {
  return { slug, folder_path: folderPath };
}
