import { quoteServer } from "../../errors/sanitize-text.js";
import { type NamedTool, nameTools, resolveNaming } from "../../tools/tool-names.js";
import { createFinding, type Finding } from "./finding.js";

/** As `createMcpTools` names them, unless it is told otherwise. */
const NAMING = resolveNaming({}, "server");

/** What becomes of the names of all servers' tools together. */
export function findingsOfNames(tools: readonly NamedTool[]): Finding[] {
  const named = tools.map((tool) => ({ ...tool, shown: nameTools([tool], NAMING)[0] ?? "" }));
  return [
    ...named.filter(isChanged).map(({ server, tool, shown }) => {
      const [name, text] = [quoteServer(tool), `Models see the tool "${quoteServer(tool)}" as ${shown}.`];
      const next = "Nothing to do: the server is called by its own name for it.";
      return createFinding("name-changed", { server, tool: name, text, next });
    }),
    ...sharing(named, ({ shown }) => shown).map((owners) => collision(owners)),
    ...sharing(tools, ({ tool }) => tool).flatMap((owners) => shared(owners)),
  ];
}

function isChanged({ server, tool, shown }: NamedTool & { readonly shown: string }): boolean {
  return shown !== `${server}__${tool}`;
}

/** Those that have something in common with another. */
function sharing<Tool>(tools: readonly Tool[], keyOf: (tool: Tool) => string): Tool[][] {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) groups.set(keyOf(tool), [...(groups.get(keyOf(tool)) ?? []), tool]);
  return [...groups.values()].filter((group) => group.length > 1);
}

function collision(owners: readonly (NamedTool & { readonly shown: string })[]): Finding {
  const text = `${owners.map(describe).join(" and ")} get the same name, ${owners[0]?.shown ?? ""}.`;
  const next =
    'createMcpTools throws: set naming: { onCollision: "suffix" }, or leave one out with tools: { name: false }.';
  return createFinding("name-collision", { server: owners[0]?.server, text, next });
}

function shared(owners: readonly NamedTool[]): Finding[] {
  const servers = [...new Set(owners.map(({ server }) => server))];
  if (servers.length < 2) return [];
  const tool = quoteServer(owners[0]?.tool ?? "");
  const text = `Servers ${servers.join(", ")} all have a tool "${tool}".`;
  const next = 'Nothing to do, unless you set naming: { prefix: "none" }.';
  return [createFinding("name-shared", { tool, text, next })];
}

function describe({ server, tool }: NamedTool): string {
  return `"${quoteServer(tool)}" of "${server}"`;
}
