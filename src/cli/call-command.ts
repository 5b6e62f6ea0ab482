import { readFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { text as readAll } from "node:stream/consumers";
import type { ContentBlock, ToolResult } from "../client/tool-result.js";
import type { McpToolInfo } from "../config/server-features.js";
import { joinNames } from "../errors/sanitize-text.js";
import { validateArguments } from "../json-schema/schema-validator.js";
import { isPlainObject, type JsonObject, toObject, tryParseJson } from "../json/json.js";
import type { Progress } from "../transports/transport.js";
import type { Command, CommandContext, Outcome } from "./command-context.js";
import { suggestName, UsageError } from "./exit-codes.js";
import { toFailureFinding } from "./report/failure-finding.js";
import { type Finding, toExit } from "./report/finding.js";
import { renderSections } from "./report/render-findings.js";
import { formatSignature } from "./report/render-servers.js";
import { type ConnectedServer, settle, withConnectedServers } from "./servers/connect-servers.js";
import {
  filterByName,
  requireServers,
  selectServers,
  type ServerSelection,
} from "./servers/select-servers.js";
import { formatJson, renderStatus, writeOutput } from "./terminal.js";
import { escapeExcerpt, escapeText } from "./text-format.js";

/** Calls one tool. Approval rules do not apply: the user typed the call. */
export const callCommand: Command = async (context) => {
  const all = requireServers(await selectServers(context, []));
  const request = parseToolPositionals(context.line.positionals, all, USAGE);
  const selection = requireServers(filterByName(all, [request.server]));
  const baseArgs = await readArguments(context);
  return withConnectedServers(selection, context, async ({ connected: [connected], findings }) => {
    if (connected?.tools === undefined) return toFailedOutcome(findings);
    const tool = findTool(connected.tools, request.server, request.tool);
    return callTool(connected, tool.name, toArguments(baseArgs, request, tool), context);
  });
};

async function callTool(
  { client, server }: ConnectedServer,
  tool: string,
  args: JsonObject,
  context: CommandContext,
): Promise<Outcome> {
  const { spinner, signal } = context;
  const startedAt = performance.now();
  let progress = "";
  const onProgress = ({ progress: value, total }: Progress) => {
    progress = `  ${value}${total === undefined ? "" : `/${total}`}`;
  };
  const { value: result, error } = await spinner.during(
    (elapsed) => `calling ${tool}  ${elapsed}${progress}`,
    () => settle(client.callTool({ name: tool, args }, { signal, onProgress }), signal),
  );
  if (error !== undefined) return toFailedOutcome([toFailureFinding(error, server, { hasSession: true })]);
  const latencyMs = Math.round(performance.now() - startedAt);
  return toCallOutcome(result, { server: server.name, tool, latencyMs }, context);
}

export function toFailedOutcome(findings: readonly Finding[]): Outcome {
  return {
    exit: toExit(findings),
    json: { findings },
    render: (page) => renderSections([], findings, page),
    stream: "stderr",
  };
}

/** The parsed arguments of the `call` command. */
interface CallRequest {
  readonly server: string;
  readonly tool: string;
  /** `name=value`, as typed. */
  readonly pairs: readonly (readonly [name: string, value: string])[];
}

const USAGE = "Usage: call <server> <tool>, for example: call weather forecast city=Oslo.";

/** Parses `<server> <tool> name=value …`. With a single server, its name may be omitted. */
export function parseToolPositionals(
  positionals: readonly string[],
  { servers }: ServerSelection,
  usage: string,
): CallRequest {
  const [first, second, extra] = positionals.filter((argument) => !isPair(argument));
  const pairs = positionals.filter(isPair).map((argument): [string, string] => {
    const index = argument.indexOf("=");
    return [argument.slice(0, index), argument.slice(index + 1)];
  });
  if (first === undefined) throw new UsageError("Missing <server> and <tool>.", usage);
  const unexpected = extra ?? (second?.startsWith("{") === true ? second : undefined);
  if (unexpected !== undefined)
    throw new UsageError(
      `Unexpected argument "${unexpected}".`,
      "Pass arguments as name=value or with --args.",
    );
  if (second !== undefined) return { server: first, tool: second, pairs };
  const [server] = servers;
  if (server !== undefined && servers.length === 1) return { server: server.name, tool: first, pairs };
  const isServer = servers.some(({ name }) => name === first);
  throw new UsageError(
    isServer ? `Missing <tool> for server "${first}".` : `Missing <server> for tool "${first}".`,
    usage,
  );
}

function isPair(argument: string): boolean {
  return argument.indexOf("=") > 0;
}

const MAX_NAMES = 20;

/** Finds a tool by its name on the server or by the name that models see. */
export function findTool(tools: readonly McpToolInfo[], server: string, toolName: string): McpToolInfo {
  const tool =
    tools.find(({ name }) => name === toolName) ??
    tools.find(({ name }) => `${server}__${name}` === toolName);
  if (tool !== undefined) return tool;
  const names = tools.map(({ name }) => escapeExcerpt(name));
  const more = names.length > MAX_NAMES ? " (see list)" : "";
  const all = names.length === 0 ? "It has no tools." : `Tools: ${joinNames(names, MAX_NAMES)}${more}.`;
  throw new UsageError(`Server "${server}" has no tool "${toolName}".`, suggestName(toolName, names, all));
}

/** Reads `--args`: JSON, `@file`, or `-` for stdin. */
async function readArguments({ line, terminal }: CommandContext): Promise<JsonObject> {
  const source = line.value("args");
  if (source === undefined) return {};
  const file = source.startsWith("@") ? source.slice(1) : undefined;
  let json = source;
  if (source === "-") json = await readAll(terminal.stdin);
  else if (file !== undefined)
    json = await readFile(resolve(terminal.cwd, file), "utf8").catch((error: Error) => {
      throw new UsageError(
        `The file of --args cannot be read: ${error.message}.`,
        "Correct the path after @.",
      );
    });
  const parsed = parseJson(json, source === "-" ? "The input from stdin" : (file ?? "--args"));
  if (isPlainObject(parsed)) return parsed;
  throw new UsageError("--args is not a JSON object.", `Use --args '{"city":"Oslo"}', @file or -.`);
}

function parseJson(json: string, origin: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new UsageError(
      `${origin} is not valid JSON: ${(error as Error).message}.`,
      `Quote it for the shell: --args '{"city":"Oslo"}'.`,
    );
  }
}

/** Merges `name=value` pairs, converted by the schema. Throws a `UsageError` if the result is invalid. */
function toArguments(base: JsonObject, { pairs }: CallRequest, tool: McpToolInfo): JsonObject {
  const typed = pairs.map(([name, value]) => [name, toValue(value, tool, name)]);
  const args: JsonObject = { ...base, ...(Object.fromEntries(typed) as JsonObject) };
  const issues = validateArguments(tool.inputSchema, args);
  if (issues.length === 0) return args;
  const problems = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new UsageError(`Invalid arguments: ${problems.join("; ")}.`, `Usage: ${formatSignature(tool)}.`);
}

/** Keeps a string if the schema wants one, else parses it as JSON: `days=3` is a number. */
function toValue(value: string, { inputSchema }: McpToolInfo, name: string): unknown {
  const schema = toObject(inputSchema["properties"])[name];
  if (toObject(schema)["type"] === "string") return value;
  const parsed = tryParseJson(value);
  return parsed === undefined ? value : parsed;
}

/** Writes the result to `--output` if requested, and renders it. A tool error is not written to the file. */
async function toCallOutcome(
  result: ToolResult,
  info: { readonly server: string; readonly tool: string; readonly latencyMs: number },
  { line, terminal }: CommandContext,
): Promise<Outcome> {
  const { isError, content, structuredContent, meta } = result;
  const output = line.value("output");
  const files = output === undefined || isError ? [] : toOutputFiles(result, output);
  for (const { file, content: bytes } of files) await writeOutput(file, bytes, terminal);
  const stream = output !== undefined && isError ? "stderr" : "stdout";
  return {
    exit: isError ? "toolError" : "ok",
    json: { ...info, isError, content, structuredContent, meta, saved: files.map(({ file }) => file) },
    stream,
    isVerbatim: true,
    render: ({ colors }) => {
      const fileLines = files.map(({ file }) => `${renderStatus("ok", colors)} ${file}`);
      if (files[0] !== undefined && files[0].block === undefined) return fileLines;
      const saved = new Map(files.map(({ block }, index) => [block, fileLines[index] ?? ""]));
      const isTerminal = terminal[stream].isTTY === true;
      const lines = renderResult(result, saved, { isTerminal });
      if (!isError || (output === undefined && !isTerminal)) return lines;
      const suffix = output === undefined ? "" : `; ${output} was not written`;
      return [`${renderStatus("error", colors)} The tool reported an error${suffix}:`, ...lines];
    },
  };
}

/**
 * Returns the lines of a result. A pipe gets the original text; for a terminal each line is escaped, and tabs are
 * spaces. Saved blocks are replaced by their file name.
 */
function renderResult(
  result: ToolResult,
  saved: ReadonlyMap<ContentBlock | undefined, string>,
  { isTerminal }: { readonly isTerminal: boolean },
): string[] {
  const toLines = (text: string) =>
    isTerminal
      ? text.split(/\r?\n/).map((line) => escapeText(line.replaceAll("\t", "    ")))
      : text.split("\n");
  const lines =
    saved.size === 0
      ? toLines(renderContent(result))
      : result.content.flatMap((block) => saved.get(block) ?? toLines(renderBlock(block)));
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Returns the binary content of an image, audio or resource block. */
function getBytes(block: ContentBlock) {
  const source = isPlainObject(block["resource"]) ? block["resource"] : block;
  const data = source["data"] ?? source["blob"];
  if (typeof data !== "string") return undefined;
  const type = typeof source["mimeType"] === "string" ? source["mimeType"] : "application/octet-stream";
  return { bytes: Buffer.from(data, "base64"), type };
}

/** Renders text blocks verbatim and other blocks as one line. */
function renderContent({ content, structuredContent }: ToolResult): string {
  if (content.length === 0 && structuredContent !== undefined) return formatJson(structuredContent);
  return content.map(renderBlock).join("\n");
}

function renderBlock(block: ContentBlock): string {
  if (block.type === "text" && typeof block["text"] === "string") return block["text"];
  const { resource } = block;
  if (isPlainObject(resource) && typeof resource["text"] === "string") return resource["text"];
  const binary = getBytes(block);
  if (binary !== undefined)
    return `[${escapeText(block.type)}: ${escapeText(binary.type)}, ${formatSize(binary.bytes.length)}; save it with --output]`;
  const { uri } = block;
  if (typeof uri === "string") return `[${escapeText(block.type)}: ${escapeText(uri)}]`;
  return escapeText(JSON.stringify(block));
}

function formatSize(bytes: number): string {
  return bytes < 1_000 ? `${bytes} bytes` : `${(bytes / 1_000).toFixed(1)} kB`;
}

interface OutputFile {
  readonly file: string;
  readonly content: string | Uint8Array;
  /** The block in the file; undefined if it contains the text. */
  readonly block?: ContentBlock;
}

/** Returns the files that `--output` writes: one per binary block, or one with the text. */
function toOutputFiles(result: ToolResult, output: string): readonly OutputFile[] {
  const files = result.content.flatMap((block) => {
    const content = getBytes(block)?.bytes;
    return content === undefined ? [] : [{ block, content }];
  });
  const [first, second] = files;
  if (first === undefined) return [{ file: output, content: renderContent(result) }];
  if (second === undefined) return [{ ...first, file: output }];
  const extension = extname(output);
  const stem = output.slice(0, output.length - extension.length);
  return files.map((file, index) => ({ ...file, file: `${stem}-${index + 1}${extension}` }));
}
