const LONGEST_PATTERN = 2_000;

/** A counted repetition up to here cannot be told from no repetition by its cost. */
const FEW = 1;

/**
 * Why a pattern must not be run, or nothing. Conservative: a pattern that could take exponential
 * time is refused, and with it some that would not.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > LONGEST_PATTERN) return "is too long";
  try {
    const expression = new RegExp(pattern, "u");
    if (explodes(parsePattern(pattern), createOverlap(pattern))) return "could take exponential time";
    // An engine may find out only when it runs a pattern that it is too large.
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

function explodes(alternatives: readonly Sequence[], overlap: Overlap): boolean {
  return alternatives.flat().some((term) => {
    if (term.max > FEW && term.kind === "backreference") return true;
    if (term.max > FEW && term.kind === "group" && !isUnambiguous(term.alternatives, overlap)) return true;
    return explodes(term.alternatives, overlap);
  });
}

/** Whether a repeated group can cut a text into its repetitions in one way only. */
function isUnambiguous(alternatives: readonly Sequence[], overlap: Overlap): boolean {
  if (!alternatives.every((sequence) => isFixed(sequence) || isDelimited(sequence, overlap))) return false;
  return alternatives.every((sequence, index) =>
    alternatives.slice(index + 1).every((other) => !startAlike(sequence, other, overlap)),
  );
}

function isFixed(sequence: Sequence): boolean {
  return sequence.every((term) => {
    if (term.min !== term.max || term.kind === "backreference") return false;
    return term.kind === "lookaround" || term.alternatives.every(isFixed);
  });
}

/** `-[a-z]+` and `[a-z]+\.` begin or end with a character that nothing else in them matches. */
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

function startAlike(one: Sequence, other: Sequence, overlap: Overlap): boolean {
  const [first, second] = [one[0], other[0]];
  if (first?.kind !== "atom" || second?.kind !== "atom" || first.min === 0 || second.min === 0) return true;
  return overlap(first.source, second.source);
}

/** Characters that stand for all: a class that none of these is in has its bounds in the pattern. */
const SAMPLES = [
  ...Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)),
  "é",
  "Ω",
  "я",
  "中",
  "😀",
];

/** Whether some character matches both atoms. */
type Overlap = (one: string, other: string) => boolean;

const PATTERN_CHARACTERS = ".\\[]()|*+?{}^$";

/** One bit a sample, kept for each atom: a pattern may have a thousand of them to compare. */
function createOverlap(pattern: string): Overlap {
  const samples = [...new Set([...SAMPLES, ...Array.from(pattern)])];
  const known = new Map(samples.map((sample, index) => [sample, 1n << BigInt(index)]));
  for (const special of PATTERN_CHARACTERS) known.delete(special);

  function samplesOf(source: string): bigint {
    const before = known.get(source);
    if (before !== undefined) return before;
    const expression = new RegExp(`^(?:${source})$`, "su");
    const matches = samples.map((sample) => (expression.test(sample) ? "1" : "0"));
    const bits = BigInt(`0b${matches.toReversed().join("")}`);
    known.set(source, bits);
    return bits;
  }

  return (one, other) => (samplesOf(one) & samplesOf(other)) !== 0n;
}

const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|k<[^>]*>|\d+|[\s\S])/uy;
const CHARACTER_CLASS = /\[(?:\\[\s\S]|[^\]\\])*\]/uy;
const GROUP_START = /\((?:\?(?:<?[=!]|<[^>]*>|[a-z-]*:))?/uy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/uy;

/** Only for patterns that compile: what is no valid syntax is not found out here. */
function parsePattern(pattern: string): Sequence[] {
  let at = 0;

  function take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = at;
    const match = expression.exec(pattern);
    if (match !== null) at = expression.lastIndex;
    return match;
  }

  function parseAlternatives(): Sequence[] {
    const alternatives: Term[][] = [[]];
    while (at < pattern.length && pattern[at] !== ")") {
      if (pattern[at] === "|") {
        at += 1;
        alternatives.push([]);
      } else {
        alternatives.at(-1)?.push(parseTerm());
      }
    }
    return alternatives;
  }

  function parseTerm(): Term {
    const start = at;
    const group = take(GROUP_START)?.[0];
    let alternatives: Sequence[] = [];
    if (group !== undefined) {
      alternatives = parseAlternatives();
      at += 1;
    } else if ((take(ESCAPE) ?? take(CHARACTER_CLASS)) === null) {
      at += String.fromCodePoint(pattern.codePointAt(at) ?? 0).length;
    }
    const source = pattern.slice(start, at);
    const kind = group === undefined ? kindOfAtom(source) : /[=!]$/.test(group) ? "lookaround" : "group";
    return { kind, source, alternatives, ...parseQuantifier() };
  }

  function parseQuantifier(): { min: number; max: number } {
    const match = take(QUANTIFIER);
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
