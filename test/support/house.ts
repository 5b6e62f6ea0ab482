import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";

/** Who stands on which floor. A room that is not here may not exist. */
const FLOORS: Readonly<Record<string, number>> = {
  errors: 0,
  concurrency: 1,
  definitions: 2,
  telemetry: 2,
  transports: 3,
  policies: 3,
  stores: 3,
  session: 4,
  servers: 4,
  client: 5,
  catalogue: 6,
  content: 6,
  tools: 7,
  manager: 8,
  factories: 9,
  cli: 10,
  langchain: 10,
  langgraph: 10,
  testing: 10,
  uipath: 10,
  opentelemetry: 10,
};
const PUBLIC_SURFACE = "index.ts";
const TOP_FLOOR = 10;

/** Which rooms may load which package when they run. Packages that are not here are open to none. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  "@modelcontextprotocol/sdk": ["transports", "session", "testing"],
  "@modelcontextprotocol/client": ["session"],
  undici: ["transports"],
  ws: ["transports"],
  "@aws-sdk/client-lambda": ["transports"],
  "eventsource-parser": ["transports"],
  "jsonc-parser": ["servers"],
  zod: ["definitions", "session", "tools", "langchain"],
  "@cfworker/json-schema": ["tools"],
  ioredis: ["stores"],
  "@aws-sdk/client-dynamodb": ["stores"],
  "@opentelemetry/api": ["opentelemetry"],
  "@langchain/langgraph": ["langgraph"],
  langchain: ["langchain"],
  "@langchain/core": ["content", "tools", "factories", "langchain", "langgraph"],
};

const DRAWERS = /^(utils?|helpers?|common|misc|shared|types)(\.ts)?$/;
const LONGEST_FILE = 250;

export interface SourceFile {
  /** Relative to the source folder, with slashes: `session/connection.ts`. */
  readonly path: string;
  readonly text: string;
}

/** Rooms with a subpath of their own, for users of one package: whoever comes in has it. */
const ENTRANCES: Readonly<Record<string, string>> = {
  langchain: "langchain",
  langgraph: "@langchain/langgraph",
};

/** What users may do without: it is loaded when it is needed, and never at once. */
const { peerDependenciesMeta } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { peerDependenciesMeta: Readonly<Record<string, unknown>> };

interface Import {
  readonly specifier: string;
  readonly isType: boolean;
  readonly isOnDemand: boolean;
}

export function readSource(folder: string): SourceFile[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({ path: name.replaceAll("\\", "/"), text: readFileSync(join(folder, name), "utf8") }));
}

/** Every rule of the house that these files break, in words. */
export function findViolations(files: readonly SourceFile[]): string[] {
  return [...files.flatMap((file) => violationsOf(file)), ...findCycles(files)];
}

function violationsOf(file: SourceFile): string[] {
  const room = roomOf(file.path);
  const violations: string[] = [];
  if (file.path !== PUBLIC_SURFACE && FLOORS[room] === undefined)
    violations.push(`${file.path}: no room "${room}"`);
  if (file.path.split("/").some((part) => DRAWERS.test(part)))
    violations.push(`${file.path}: a drawer, not a name`);
  const lines = file.text.split("\n").length - 1;
  if (lines > LONGEST_FILE) violations.push(`${file.path}: ${lines} lines`);
  for (const { specifier, isType, isOnDemand } of importsOf(file)) {
    const target = resolve(file.path, specifier);
    if (target !== undefined) violations.push(...floorViolation(file.path, target));
    else if (!isType) violations.push(...doorViolation(file.path, specifier, isOnDemand));
  }
  return violations;
}

function floorViolation(from: string, to: string): string[] {
  const [here, there] = [roomOf(from), roomOf(to)];
  if (here === there || floorOf(there) < floorOf(here) || from === PUBLIC_SURFACE) return [];
  return [`${from}: imports ${to}, which is not below it`];
}

function doorViolation(from: string, specifier: string, isOnDemand: boolean): string[] {
  if (specifier.startsWith("node:")) return [];
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  if (name in peerDependenciesMeta && !isOnDemand && ENTRANCES[roomOf(from)] !== name)
    return [`${from}: loads ${name} at once, which is optional`];
  if (DOORS[name]?.includes(roomOf(from)) === true) return [];
  return [`${from}: loads ${name}, which has no door there`];
}

/** All imports count, also those of types: a circle of types is a circle of ideas. */
function findCycles(files: readonly SourceFile[]): string[] {
  const graph = new Map(
    files.map((file) => [
      file.path,
      importsOf(file).flatMap(({ specifier }) => resolve(file.path, specifier) ?? []),
    ]),
  );
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] => {
    if (trail.includes(path)) return [`cycle: ${[...trail.slice(trail.indexOf(path)), path].join(" -> ")}`];
    if (done.has(path)) return [];
    const found = (graph.get(path) ?? []).flatMap((next) => visit(next, [...trail, path]));
    done.add(path);
    return found;
  };
  return [...graph.keys()].flatMap((path) => visit(path, []));
}

/** The packages that are there when a file is loaded, by way of all that it imports. */
export function packagesLoadedBy(path: string, files: readonly SourceFile[]): string[] {
  const left = [path];
  const seen = new Set<string>();
  const packages = new Set<string>();
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const file = files.find((one) => one.path === next);
    if (file === undefined || seen.has(next)) continue;
    seen.add(next);
    for (const { specifier, isType, isOnDemand } of importsOf(file)) {
      if (isType || isOnDemand || specifier.startsWith("node:")) continue;
      const target = resolve(next, specifier);
      if (target === undefined) packages.add(specifier);
      else left.push(target);
    }
  }
  return [...packages].toSorted();
}

function importsOf({ text }: SourceFile): Import[] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s+)?([^"';]*?from\s+)?"([^"]+)"/gm);
  const dynamic = text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g);
  return [
    ...[...statements].map(([, type, names, specifier]) => ({
      specifier: specifier ?? "",
      isOnDemand: false,
      isType: type !== undefined || /^\{(\s*type\s+[^,}]+,?)+\s*\}\s*from/.test(names ?? ""),
    })),
    ...[...dynamic].map(([, specifier]) => ({ specifier: specifier ?? "", isType: false, isOnDemand: true })),
  ];
}

function resolve(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  const target = normalize(join(dirname(from), specifier)).replaceAll("\\", "/");
  return relative(".", target).replace(/\.js$/, ".ts");
}

function roomOf(path: string): string {
  return path.split("/")[0] ?? path;
}

function floorOf(room: string): number {
  return FLOORS[room] ?? TOP_FLOOR;
}
