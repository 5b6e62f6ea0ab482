const MAX_PATTERN_LENGTH = 2_000;

/** Counted repetitions up to this number cost no more than no repetition. */
const MAX_CHEAP_REPEAT = 1;

/**
 * Returns why a pattern must not be run, or `undefined`. Conservative: also rejects some patterns that would not
 * take exponential time.
 */
export function findPatternProblem(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return "is too long";
  try {
    const expression = new RegExp(pattern, "u");
    if (isExponential(parsePattern(pattern), createOverlap(pattern))) return "could take exponential time";
    // Some engines detect a pattern that is too large only when it runs.
    expression.test("");
  } catch {
    return "does not compile";
  }
  return undefined;
}

type Sequence = readonly Term[];

interface Term {
  readonly kind: "atom" | "group" | "lookaround" | "assertion" | "backreference";
  readonly source: string;
  readonly alternatives: readonly Sequence[];
  readonly min: number;
  readonly max: number;
}

function isExponential(alternatives: readonly Sequence[], overlap: Overlap): boolean {
  return alternatives.flat().some((term) => {
    if (term.max > MAX_CHEAP_REPEAT && term.kind === "backreference") return true;
    if (term.max > MAX_CHEAP_REPEAT && term.kind === "group" && !isUnambiguous(term.alternatives, overlap))
      return true;
    return isExponential(term.alternatives, overlap);
  });
}

/** Whether a text can be divided into repetitions of a group in only one way. */
function isUnambiguous(alternatives: readonly Sequence[], overlap: Overlap): boolean {
  if (!alternatives.every((sequence) => isFixed(sequence) || isDelimited(sequence, overlap))) return false;
  return alternatives.every((sequence, index) =>
    alternatives.slice(index + 1).every((other) => !overlapAtStart(sequence, other, overlap)),
  );
}

function isFixed(sequence: Sequence): boolean {
  return sequence.every((term) => {
    if (term.min !== term.max || term.kind === "backreference") return false;
    return term.kind === "lookaround" || term.alternatives.every(isFixed);
  });
}

/** `-[a-z]+` and `[a-z]+\.` start or end with a character that nothing else in them matches. */
function isDelimited(sequence: Sequence, overlap: Overlap): boolean {
  const atoms = sequence.flatMap(atomsOf);
  if (sequence.some((term) => term.kind === "backreference")) return false;
  return [sequence[0], sequence.at(-1)].some((edge) => {
    if (edge?.kind !== "atom" || edge.min !== 1 || edge.max !== 1) return false;
    return atoms.every((atom) => atom === edge || !overlap(atom.source, edge.source));
  });
}

function atomsOf(term: Term): Term[] {
  return term.kind === "atom" ? [term] : term.alternatives.flat().flatMap(atomsOf);
}

function overlapAtStart(a: Sequence, b: Sequence, overlap: Overlap): boolean {
  const [first, second] = [a[0], b[0]];
  if (first?.kind !== "atom" || second?.kind !== "atom" || first.min === 0 || second.min === 0) return true;
  return overlap(first.source, second.source);
}

/** Represent all characters: a class without any of them names its bounds in the pattern, which are added. */
const SAMPLE_CHARACTERS = [
  ...Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)),
  "é",
  "Ω",
  "я",
  "中",
  "😀",
];

/** Whether a character exists that matches both atoms. */
type Overlap = (a: string, b: string) => boolean;

const PATTERN_CHARACTERS = ".\\[]()|*+?{}^$";

/** Caches one bit per sample for each atom, because a pattern may have a thousand atoms to compare. */
function createOverlap(pattern: string): Overlap {
  const samples = [...new Set([...SAMPLE_CHARACTERS, ...Array.from(pattern)])];
  const bitsBySource = new Map(samples.map((sample, index) => [sample, 1n << BigInt(index)]));
  for (const special of PATTERN_CHARACTERS) bitsBySource.delete(special);

  function matchBits(source: string): bigint {
    const cached = bitsBySource.get(source);
    if (cached !== undefined) return cached;
    const expression = new RegExp(`^(?:${source})$`, "su");
    const matches = samples.map((sample) => (expression.test(sample) ? "1" : "0"));
    const bits = BigInt(`0b${matches.toReversed().join("")}`);
    bitsBySource.set(source, bits);
    return bits;
  }

  return (a, b) => (matchBits(a) & matchBits(b)) !== 0n;
}

const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|k<[^>]*>|\d+|[\s\S])/uy;
const CHARACTER_CLASS = /\[(?:\\[\s\S]|[^\]\\])*\]/uy;
const GROUP_START = /\((?:\?(?:<?[=!]|<[^>]*>|[a-z-]*:))?/uy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/uy;

/** Parses a pattern that compiles. Does not detect invalid syntax. */
function parsePattern(pattern: string): Sequence[] {
  let position = 0;

  function consume(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = position;
    const match = expression.exec(pattern);
    if (match !== null) position = expression.lastIndex;
    return match;
  }

  function parseAlternatives(): Sequence[] {
    const alternatives: Term[][] = [[]];
    while (position < pattern.length && pattern[position] !== ")") {
      if (pattern[position] === "|") {
        position += 1;
        alternatives.push([]);
      } else {
        alternatives.at(-1)?.push(parseTerm());
      }
    }
    return alternatives;
  }

  function parseTerm(): Term {
    const start = position;
    const group = consume(GROUP_START)?.[0];
    let alternatives: Sequence[] = [];
    if (group !== undefined) {
      alternatives = parseAlternatives();
      position += 1;
    } else if ((consume(ESCAPE) ?? consume(CHARACTER_CLASS)) === null) {
      position += String.fromCodePoint(pattern.codePointAt(position) ?? 0).length;
    }
    const source = pattern.slice(start, position);
    const kind = group === undefined ? kindOfAtom(source) : /[=!]$/.test(group) ? "lookaround" : "group";
    return { kind, source, alternatives, ...parseQuantifier() };
  }

  function parseQuantifier(): { min: number; max: number } {
    const match = consume(QUANTIFIER);
    if (match === null) return { min: 1, max: 1 };
    const [, sign, least, comma, most] = match;
    if (sign !== undefined) return { min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
    const max = comma === "" ? Number(least) : most === "" ? Infinity : Number(most);
    return { min: Number(least), max };
  }

  return parseAlternatives();
}

function kindOfAtom(source: string): Term["kind"] {
  if (source === "^" || source === "$" || source === "\\b" || source === "\\B") return "assertion";
  return /^\\(?:k<|[1-9])/.test(source) ? "backreference" : "atom";
}
