import { errorCode } from "./failure-kinds.js";
import { McpRuntimeError } from "./mcp-runtime-error.js";

interface OptionalDependency<Module> {
  /** The feature that needs it, as the subject of the error message: `A Redis store`. */
  readonly neededBy: string;
  /** The `import()` with a literal specifier at the call site, where the architecture test can see it. */
  readonly load: () => Promise<Module>;
}

/**
 * Loads an optional peer dependency.
 *
 * @throws {@link McpRuntimeError} of kind `invalid-config` that names the package to install.
 */
export async function loadOptionalDependency<Module>(
  name: string,
  { neededBy, load }: OptionalDependency<Module>,
): Promise<Module> {
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

/** An installed package may itself be missing a dependency, so the name is compared, too. */
function isMissing(cause: unknown, name: string): boolean {
  if (!(cause instanceof Error)) return false;
  const code = errorCode(cause);
  const isNotFound = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  return isNotFound && cause.message.includes(`'${name}`);
}
