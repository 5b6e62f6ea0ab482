import { createRequire } from "node:module";
import { errorCode } from "./failure-kinds.js";
import { McpRuntimeError } from "./mcp-runtime-error.js";

/**
 * The oldest versions that `npm run matrix` tests. The ranges of the peer dependencies are wider, because npm refuses
 * to install this package together with a version outside the range, even if it is never loaded.
 */
export const MINIMUM_VERSIONS: Readonly<Record<string, string>> = {
  "@aws-sdk/client-dynamodb": "3.1000.0",
  "@aws-sdk/client-lambda": "3.1000.0",
  "@opentelemetry/api": "1.3.0",
  ioredis: "5.4.0",
  langchain: "1.2.39",
  ws: "8.19.0",
};

interface OptionalDependency<Module> {
  /** The feature that needs it, as the subject of the error message: `A Redis store`. */
  readonly neededBy: string;
  /** The `import()` with a literal specifier at the call site, where the architecture test can see it. */
  readonly load: () => Promise<Module>;
}

/**
 * Loads an optional peer dependency.
 *
 * @throws {@link McpRuntimeError} of kind `invalid-config` that names the package to install or to update.
 */
export async function loadOptionalDependency<Module>(
  name: string,
  { neededBy, load }: OptionalDependency<Module>,
): Promise<Module> {
  assertMinimumVersion(name, neededBy);
  try {
    return await load();
  } catch (cause) {
    const problem = isMissing(cause, name)
      ? `which is not installed. Add it to your project: npm install ${name}`
      : "which is installed but cannot be loaded (see the cause).";
    throw new McpRuntimeError("invalid-config", `${neededBy} needs the package "${name}", ${problem}`, {
      cause,
    });
  }
}

/**
 * Does nothing if the version is unknown: the package is not installed, or part of a bundle.
 *
 * @throws {@link McpRuntimeError} of kind `invalid-config` if the installed version is too old.
 */
export function assertMinimumVersion(name: string, neededBy: string): void {
  const minimum = MINIMUM_VERSIONS[name];
  if (minimum === undefined) return;
  const version = findInstalledVersion(name);
  if (version === undefined || !isOlder(version, minimum)) return;
  const text = `${neededBy} needs the package "${name}" in version ${minimum} or later, and ${version} is installed. Update it: npm install ${name}@latest`;
  throw new McpRuntimeError("invalid-config", text);
}

function findInstalledVersion(name: string): string | undefined {
  try {
    const { version } = createRequire(import.meta.url)(`${name}/package.json`) as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

function isOlder(version: string, minimum: string): boolean {
  const numbers = [version, minimum].map((text) => text.split(".").map((part) => Number.parseInt(part, 10)));
  const [installed = [], required = []] = numbers;
  const index = required.findIndex((number, position) => number !== installed[position]);
  return index !== -1 && (installed[index] ?? 0) < (required[index] ?? 0);
}

/** An installed package may itself be missing a dependency, so the name is compared, too. */
function isMissing(cause: unknown, name: string): boolean {
  if (!(cause instanceof Error)) return false;
  const code = errorCode(cause);
  const isNotFound = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  return isNotFound && cause.message.includes(`'${name}`);
}
