import type { CallToolOptions, RequestOptions, ToolCall } from "../client/call-options.js";
import type { McpClient } from "../client/mcp-client.js";
import type { McpResourceContent } from "../client/resource-content.js";
import { ToolResult } from "../client/tool-result.js";
import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { withSentence } from "../errors/sanitize-text.js";
import type { ToolOffer } from "../tools/create-tools.js";

/** What they need of a client. */
type ResourceReader = Pick<McpClient, "name" | "listResources" | "listResourceTemplates" | "readResource">;

interface ResourceToolsParts {
  readonly reader: ResourceReader;
  /** Throws while nothing may be sent. */
  readonly guard?: () => void;
}

interface ResourceTool {
  readonly info: McpToolInfo;
  readonly run: (reader: ResourceReader, call: ToolCall, options: RequestOptions) => Promise<ToolResult>;
}

const READ_ONLY = { readOnlyHint: true, idempotentHint: true };
const NO_SUCH_RESOURCE: ReadonlySet<number | undefined> = new Set([-32_002, -32_602]);

/**
 * What a server offers, and two tools with which a model finds and reads its resources. They are tools
 * like all others: named, ruled and cut by the same options. A tool of the server's own of such a name
 * stays what it is.
 */
export function withResourceTools(offer: ToolOffer, { reader, guard }: ResourceToolsParts): ToolOffer {
  const taken = new Set(offer.tools.map(({ info }) => info.name));
  const added = new Map(
    [listTool(reader.name), readTool(reader.name)]
      .filter(({ info }) => !taken.has(info.name))
      .map((tool) => [tool.info.name, tool]),
  );
  const { caller, view } = offer;
  return {
    ...offer,
    tools: [...offer.tools, ...[...added.values()].map(({ info }) => ({ info }))],
    caller: {
      closed: caller.closed,
      callTool: async (call, options) => {
        const tool = added.get(call.name);
        if (tool === undefined) return caller.callTool(call, options);
        guard?.();
        return tool.run(reader, call, askerOf(options));
      },
    },
    view: {
      lookUp: async (name, options) => {
        const tool = added.get(name);
        return tool === undefined ? view.lookUp(name, options) : { state: "listed", info: tool.info };
      },
    },
  };
}

function askerOf({ signal, timeoutMs, context }: CallToolOptions): RequestOptions {
  return { signal, timeoutMs, context };
}

function listTool(server: string): ResourceTool {
  return {
    info: {
      name: "list_resources",
      title: "List resources",
      description: `Lists the resources of server "${server}", documents and data that can be read: those it names, and templates of URIs for others.`,
      inputSchema: { type: "object", properties: {} },
      annotations: READ_ONLY,
    },
    run: async (reader, { name: tool }, options) => {
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

function readTool(server: string): ResourceTool {
  return {
    info: {
      name: "read_resource",
      title: "Read resource",
      description: `Reads a resource of server "${server}".`,
      inputSchema: {
        type: "object",
        properties: {
          uri: { type: "string", description: "As it is listed, or made from a listed template." },
        },
        required: ["uri"],
      },
      annotations: READ_ONLY,
    },
    run: async (reader, { name: tool, args }, options) => {
      const contents = await reader.readResource(String(args?.["uri"]), options).catch((error: unknown) => {
        throw isUnknown(error) ? asArgumentError(error) : error;
      });
      const content = contents.map((resource) => toBlock(resource, contents.length === 1));
      return new ToolResult({ content }, undefined, { server, tool });
    },
  };
}

/** Text is what was asked for, whatever is done with resources that tools add to their results. */
function toBlock(resource: McpResourceContent, isAlone: boolean): JsonObject {
  const { uri, text } = resource;
  if (text === undefined) return { type: "resource", resource };
  return { type: "text", text: isAlone ? text : `${uri}:\n${text}` };
}

function isUnknown(error: unknown): error is McpRuntimeError {
  return error instanceof McpRuntimeError && NO_SUCH_RESOURCE.has(error.code);
}

/** A model can mend that. */
function asArgumentError(error: McpRuntimeError): McpRuntimeError {
  const hint = "The resources that are listed can be read.";
  const issues = [{ path: "uri", message: "names no resource of the server" }];
  return error.with({ kind: "invalid-request", message: withSentence(error.message, hint), issues });
}
