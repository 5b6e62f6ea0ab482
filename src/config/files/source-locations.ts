/** Counted from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

type FindOffset = (path: readonly PropertyKey[]) => number | undefined;

/** Nobody looks for a line in what is longer. */
const LONGEST = 1024 * 1024;

/** Finds where things of a JSON text stand, with one look at the text for all of them. */
export class TextPlaces {
  readonly #text: string;
  #find: Promise<FindOffset> | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Where something stands, or as much of its path as is there. */
  async find(path: readonly PropertyKey[]): Promise<TextPlace | undefined> {
    if (this.#text.length > LONGEST) return undefined;
    this.#find ??= offsetsIn(this.#text);
    const offset = (await this.#find)(path);
    return offset === undefined ? undefined : placeOf(this.#text, offset);
  }
}

async function offsetsIn(text: string): Promise<FindOffset> {
  const { findNodeAtLocation, parseTree } = await import("jsonc-parser");
  let tree: ReturnType<typeof parseTree>;
  try {
    tree = parseTree(text, [], { allowTrailingComma: true });
  } catch {
    // Too deep for its parser: then without places.
  }
  const offsetOf: FindOffset = (path) => {
    const segments = path.map((key) => (typeof key === "number" ? key : String(key)));
    const node = tree && findNodeAtLocation(tree, segments);
    const found = node?.parent?.type === "property" ? node.parent : node;
    return path.length === 0 ? undefined : (found?.offset ?? offsetOf(path.slice(0, -1)));
  };
  return offsetOf;
}

export function placeOf(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
