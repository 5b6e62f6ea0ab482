import type { McpClient } from "../client/mcp-client.js";
import type { McpResourceContent } from "../client/resource-client.js";
import { ToolResult } from "../client/tool-result.js";
import type { JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { appendSentence } from "../errors/sanitize-text.js";
import { decodeText } from "../tools/content/langchain-block.js";
import type { AddedTool } from "./added-tools.js";

type ResourceReader = Pick<McpClient, "name" | "listResources" | "listResourceTemplates" | "readResource">;

export const READ_ONLY = { readOnlyHint: true, idempotentHint: true };
const NO_SUCH_RESOURCE: ReadonlySet<number | undefined> = new Set([-32_002, -32_602]);

/** Creates two tools with which a model lists and reads the resources of a server. */
export function createResourceTools(reader: ResourceReader): AddedTool[] {
  return [createListTool(reader), createReadTool(reader)];
}

function createListTool(reader: ResourceReader): AddedTool {
  const { name: server } = reader;
  return {
    info: {
      name: "list_resources",
      title: "List resources",
      description: `Lists the resources of server "${server}" (documents and data that can be read) and its URI templates.`,
      inputSchema: { type: "object", properties: {} },
      annotations: READ_ONLY,
    },
    run: async ({ name: tool }, options) => {
      const [resources, templates] = await Promise.all([
        reader.listResources(options),
        reader.listResourceTemplates(options),
      ]);
      const listed = {
        resources: resources.map(({ uri, name, title, description, mimeType, size }) => ({
          uri,
          name,
          title,
          description,
          mimeType,
          size,
        })),
        resourceTemplates: templates.map(({ uriTemplate, name, title, description, mimeType }) => ({
          uriTemplate,
          name,
          title,
          description,
          mimeType,
        })),
      };
      const content = [{ type: "text", text: JSON.stringify(listed) }];
      return new ToolResult({ content }, listed, { server, tool });
    },
  };
}

function createReadTool(reader: ResourceReader): AddedTool {
  const { name: server } = reader;
  return {
    info: {
      name: "read_resource",
      title: "Read resource",
      description: `Reads a resource of server "${server}".`,
      inputSchema: {
        type: "object",
        properties: {
          uri: { type: "string", description: "A listed URI, or one built from a listed template." },
        },
        required: ["uri"],
      },
      annotations: READ_ONLY,
    },
    run: async ({ name: tool, args }, options) => {
      const contents = await reader.readResource(args?.["uri"] as string, options).catch((error: unknown) => {
        throw isUnknownResource(error) ? toArgumentError(error) : error;
      });
      const content = contents.map((resource) => toBlock(resource, { isOnly: contents.length === 1 }));
      return new ToolResult({ content }, undefined, { server, tool });
    },
  };
}

/** Text is returned as text, not as an embedded resource: options for embedded resources do not apply to it. */
export function toBlock(resource: McpResourceContent, { isOnly }: { readonly isOnly: boolean }): JsonObject {
  const { uri, mimeType, text = decodeText(resource.blob, mimeType) } = resource;
  if (text === undefined) return { type: "resource", resource };
  return { type: "text", text: isOnly ? text : `${uri}:\n${text}` };
}

function isUnknownResource(error: unknown): error is McpRuntimeError {
  return error instanceof McpRuntimeError && NO_SUCH_RESOURCE.has(error.code);
}

/** A wrong URI is an argument error, which the model can correct. */
function toArgumentError(error: McpRuntimeError): McpRuntimeError {
  const hint = "Use a listed URI, or one built from a listed template.";
  const issues = [{ path: "uri", message: "not a resource of the server" }];
  return error.with({ kind: "invalid-request", message: appendSentence(error.message, hint), issues });
}
