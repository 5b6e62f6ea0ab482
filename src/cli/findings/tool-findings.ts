import type { McpToolInfo } from "../../config/tool-info.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import { toShownSchema } from "../../json-schema/portable-schema.js";
import { createFinding, type Finding, type FindingCode } from "./finding.js";
import { hiddenIn } from "./hidden-characters.js";
import { objectionsTo } from "./provider-limitations.js";

/** What somebody should know of the tools of one server. */
export function findingsOfTools(server: string, tools: readonly McpToolInfo[]): Finding[] {
  if (tools.length === 0) {
    const next = "If it should have some: check its configuration and its log.";
    return [createFinding("no-tools", { server, text: "It lists no tools.", next })];
  }
  return tools.flatMap((tool) => findingsOfTool(server, tool));
}

function findingsOfTool(server: string, tool: McpToolInfo): Finding[] {
  const name = quoteServer(tool.name);
  const about = (code: FindingCode, text: string, next: string): Finding =>
    createFinding(code, { server, tool: name, text: `Tool "${name}" ${text}`, next });
  const objections = objectionsTo(tool.inputSchema);
  const { warnings } = toShownSchema(tool.inputSchema);
  const hidden = hiddenIn(tool);
  return [
    ...(hidden === ""
      ? []
      : [
          about(
            "hidden-characters",
            `has ${hidden} in its texts.`,
            "Models do not see them. Ask who runs the server why they are there.",
          ),
        ]),
    ...(warnings.length === 0
      ? []
      : [
          about(
            "schema-loosened",
            `has a schema of which a part cannot be used: ${warnings.join(" ")}`,
            "Correct the schema on the server.",
          ),
        ]),
    ...(objections.length === 0
      ? []
      : [
          about(
            "schema-changed",
            `has a schema that some providers refuse: ${objections.join(", ")}.`,
            "Nothing to do: models are shown a portable one, and calls are checked against this one.",
          ),
        ]),
    ...((tool.description ?? "").trim() === ""
      ? [
          about(
            "no-description",
            "has no description.",
            'Write one on the server, or as tools: { name: { description: "…" } } in code.',
          ),
        ]
      : []),
  ];
}
