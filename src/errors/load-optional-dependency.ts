import { McpRuntimeError } from "./mcp-runtime-error.js";

interface PeerUse<Module> {
  /** What needs it, as the beginning of a sentence: `A Redis store`. */
  readonly neededBy: string;
  /** The `import()`, written out where it is needed: the house reads its doors from there. */
  readonly load: () => Promise<Module>;
}

/** An optional peer, when it is first needed; an error that says what to install where it is missing. */
export async function loadPeer<Module>(name: string, { neededBy, load }: PeerUse<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const problem = isMissing(cause, name)
      ? `which is not installed. Add it to your project: npm install ${name}`
      : "which is installed, but cannot be loaded (see the cause).";
    throw new McpRuntimeError("invalid-config", `${neededBy} needs the package "${name}", ${problem}`, {
      cause,
    });
  }
}

/** A package that is there may itself miss another one. */
function isMissing(cause: unknown, name: string): boolean {
  if (!(cause instanceof Error)) return false;
  const code: unknown = Reflect.get(cause, "code");
  const isNotFound = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  return isNotFound && cause.message.includes(`'${name}`);
}
