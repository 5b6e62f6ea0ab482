/** Line and column, starting at 1. */
export interface SourceLocation {
  readonly line: number;
  readonly column: number;
}

type FindOffset = (path: readonly PropertyKey[]) => number | undefined;

/** Longer files were not written by hand, so lines are of no use. */
const MAX_SOURCE_LENGTH = 1024 * 1024;

/** Finds the location of values in a JSON text, which is parsed once. */
export class SourceLocator {
  readonly #text: string;
  #find: Promise<FindOffset> | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** The location of a value, or of the nearest existing parent. */
  async find(path: readonly PropertyKey[]): Promise<SourceLocation | undefined> {
    if (this.#text.length > MAX_SOURCE_LENGTH) return undefined;
    this.#find ??= createFindOffset(this.#text);
    const offset = (await this.#find)(path);
    return offset === undefined ? undefined : toLineColumn(this.#text, offset);
  }
}

async function createFindOffset(text: string): Promise<FindOffset> {
  const { findNodeAtLocation, parseTree } = await import("jsonc-parser");
  let tree: ReturnType<typeof parseTree>;
  try {
    tree = parseTree(text, [], { allowTrailingComma: true });
  } catch {
    // Too deeply nested for the parser: no locations.
  }
  const findOffset: FindOffset = (path) => {
    const segments = path.map((key) => (typeof key === "number" ? key : String(key)));
    const node = tree && findNodeAtLocation(tree, segments);
    const target = node?.parent?.type === "property" ? node.parent : node;
    return path.length === 0 ? undefined : (target?.offset ?? findOffset(path.slice(0, -1)));
  };
  return findOffset;
}

export function toLineColumn(text: string, offset: number): SourceLocation {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
