import { createRequire } from "node:module";
import type * as re2js from "re2js";
import { StepBudget } from "./step-budget.js";

/**
 * Patterns of one schema run in linear time, because servers write them: `RegExp` needs minutes for `^a*a*a*a*b$`.
 * A pattern is translated to the syntax of RE2 and runs as an automaton. What RE2 cannot express (backreferences,
 * lookbehinds, lookaheads after the start of the pattern) and what is too large has a problem and must not be used.
 */
export class LinearPatterns {
  readonly #problems = new Map<string, string | undefined>();
  readonly #compiled = new Map<string, LinearPattern>();
  readonly #use: "parse" | "run";
  #remainingSize = MAX_SIZE;

  /** @param use `parse` finds problems of the syntax without loading the engine */
  constructor(use: "parse" | "run") {
    this.#use = use;
  }

  /** Adds a pattern; returns why it must not be used, or `undefined`. */
  add(source: string): string | undefined {
    if (!this.#problems.has(source)) this.#problems.set(source, this.#compile(source));
    return this.#problems.get(source);
  }

  /** Returns a pattern that was added to run and has no problem, by its source or its strict form. */
  get(source: string): LinearPattern | undefined {
    return this.#compiled.get(source);
  }

  #compile(source: string): string | undefined {
    // A pattern with a problem has been read, too.
    this.#remainingSize -= PATTERN_SIZE + Math.ceil(source.length / CHARACTERS_PER_STEP);
    if (this.#remainingSize <= 0) return TOO_LARGE_TOGETHER;
    try {
      const translation = translatePattern(source);
      if (translation.size > this.#remainingSize) return TOO_LARGE_TOGETHER;
      this.#remainingSize -= translation.size;
      if (this.#use === "run") {
        const pattern = new LinearPattern(translation);
        for (const key of [source, toStrictPattern(source)]) this.#compiled.set(key, pattern);
      }
      return undefined;
    } catch (error) {
      if (error instanceof PatternError) return error.message;
      throw error;
    }
  }
}

/** Why a pattern is not used, as the end of a sentence. */
class PatternError extends Error {
  override readonly name = "PatternError";
}

const MAX_PATTERN_LENGTH = 2_000;
/** The estimated number of instructions of all patterns of a schema. Each takes 1 to 5 µs to compile. */
const MAX_SIZE = 8_000;
/** What every pattern takes, however short. */
const PATTERN_SIZE = 40;
const TOO_LARGE_TOGETHER = "is too large together with the patterns before it";
/** Memory for the states of an automaton. */
const MIN_AUTOMATON_BYTES = 1 << 16;
const MAX_AUTOMATON_BYTES = 1 << 20;
const AUTOMATON_BYTES_PER_INSTRUCTION = 512;
/** RE2 limits the product of nested counts. */
const MAX_REPEAT = 1_000;
/** What a step reads where the states of the automaton are known. */
const CHARACTERS_PER_STEP = 8;
/** What a step does where states do not fit into memory: instructions for one character each. */
const INSTRUCTIONS_PER_STEP = 8;

class LinearPattern {
  readonly #set: re2js.RE2Set;
  readonly #translation: Translation;
  readonly #isCounted: boolean;
  #steps = new StepBudget(Number.POSITIVE_INFINITY);

  constructor(translation: Translation) {
    this.#translation = translation;
    this.#set = compileSet(translation);
    this.#countSteps();
    // Even the empty text adds a state. If that is not counted, the engine has changed.
    this.#set.match("");
    this.#isCounted = this.#steps.used > 0;
  }

  /** @throws StepLimitError */
  test(text: string, steps: StepBudget): boolean {
    this.#steps = steps;
    steps.spend(1 + Math.ceil(text.length / CHARACTERS_PER_STEP));
    if (!this.#isCounted) this.#spendOnEveryInstruction(text);
    const matches = this.#set.match(text);
    const { lookaheads } = this.#translation;
    return (
      matches.includes(0) &&
      lookaheads.every(({ isNegative }, index) => matches.includes(index + 1) !== isNegative)
    );
  }

  /**
   * Counts what the engine does besides following known transitions: it adds a state, whose cost grows with the
   * instructions in it; or, when the states do not fit into memory, it continues without them. These methods are internal
   * to the engine, so the dependency is pinned to a minor version; without them, every text costs as much as without states.
   */
  #countSteps(): void {
    const dfa = this.#set.dfa as re2js.RE2Set["dfa"] | undefined;
    if (typeof dfa?.step !== "function" || typeof dfa.matchSet !== "function") return;
    const [step, matchSet] = [dfa.step.bind(dfa), dfa.matchSet.bind(dfa)];
    dfa.step = (state: { readonly nfaStates: readonly unknown[] }, ...rest) => {
      this.#steps.spend(4 + state.nfaStates.length + (dfa.numClasses >> 6));
      return step(state, ...rest);
    };
    dfa.matchSet = (input, ...rest) => {
      const matches = matchSet(input, ...rest);
      if (matches === null) this.#spendOnEveryInstruction(input);
      return matches;
    };
  }

  #spendOnEveryInstruction(input: string | { endPos: () => number }): void {
    const length = typeof input === "string" ? input.length : input.endPos();
    this.#steps.spend(Math.ceil((length * this.#translation.size) / INSTRUCTIONS_PER_STEP));
  }
}

let engine: typeof re2js | undefined;

/**
 * Loads the engine on demand, because most schemas have no patterns and it takes as long to load as 20 small modules.
 *
 * @throws PatternError
 */
function loadEngine(): typeof re2js {
  try {
    // `import.meta.url` is undefined in a bundle that is a CommonJS module.
    const url = import.meta.url as string | undefined;
    return (engine ??= createRequire(url ?? `${process.cwd()}/index.js`)("re2js") as typeof re2js);
  } catch {
    throw new PatternError('cannot be checked, because the package "re2js" cannot be loaded');
  }
}

/** @throws PatternError */
function compileSet({ source, size, lookaheads }: Translation): re2js.RE2Set {
  const { RE2Set: PatternSet } = loadEngine();
  const bytes = Math.max(MIN_AUTOMATON_BYTES, size * AUTOMATON_BYTES_PER_INSTRUCTION);
  const set = new PatternSet(PatternSet.UNANCHORED, 0, Math.min(bytes, MAX_AUTOMATON_BYTES));
  try {
    set.add(source);
    for (const lookahead of lookaheads) set.add(`^(?:${lookahead.source})`);
    set.compile();
  } catch {
    // An unknown Unicode property, or nesting deeper than 1,000.
    throw new PatternError("uses syntax that is not supported");
  }
  return set;
}

/** A part of a pattern in the syntax of RE2. */
interface Fragment {
  readonly source: string;
  /** The estimated number of instructions. */
  readonly size: number;
  /** The product of nested counts. */
  readonly repeat: number;
}

interface Translation extends Fragment {
  readonly lookaheads: readonly (Fragment & { readonly isNegative: boolean })[];
}

/** One character, or a class such as `\d`. */
type ClassItem = { readonly codePoint: number } | { readonly source: string };

// The meaning of `.` and `\s` in ECMA-262.
const LINE_TERMINATORS = String.raw`\n\r\x{2028}\x{2029}`;
const SPACES = String.raw`\t-\r\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NOT_SPACES = String.raw`\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
const ALL_CHARACTERS = String.raw`\x{0}-\x{10ffff}`;
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

const ESCAPE =
  /\\(?:([pP])\{([^}]*)\}|u\{([\da-fA-F]+)\}|u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u([\da-fA-F]{4})|x([\da-fA-F]{2})|c([A-Za-z])|([1-9]|k<)|([^]))/uy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;
const GROUP = /\((?:\?(<?[=!]|<[^>]*>|:|[^:=!<]*))?/uy;
const LOOKAHEAD = /\(\?([=!])/y;

/** Long names of general categories, of which RE2 knows only the short ones. */
const CATEGORIES: Readonly<Record<string, string>> = {
  Cased_Letter: "LC",
  Close_Punctuation: "Pe",
  Combining_Mark: "M",
  Connector_Punctuation: "Pc",
  Control: "Cc",
  Currency_Symbol: "Sc",
  Dash_Punctuation: "Pd",
  Decimal_Number: "Nd",
  Enclosing_Mark: "Me",
  Final_Punctuation: "Pf",
  Format: "Cf",
  Initial_Punctuation: "Pi",
  Letter: "L",
  Letter_Number: "Nl",
  Line_Separator: "Zl",
  Lowercase_Letter: "Ll",
  Mark: "M",
  Math_Symbol: "Sm",
  Modifier_Letter: "Lm",
  Modifier_Symbol: "Sk",
  Nonspacing_Mark: "Mn",
  Number: "N",
  Open_Punctuation: "Ps",
  Other: "C",
  Other_Letter: "Lo",
  Other_Number: "No",
  Other_Punctuation: "Po",
  Other_Symbol: "So",
  Paragraph_Separator: "Zp",
  Private_Use: "Co",
  Punctuation: "P",
  Separator: "Z",
  Space_Separator: "Zs",
  Spacing_Mark: "Mc",
  Surrogate: "Cs",
  Symbol: "S",
  Titlecase_Letter: "Lt",
  Unassigned: "Cn",
  Uppercase_Letter: "Lu",
  cntrl: "Cc",
  digit: "Nd",
  punct: "P",
};

/** An alternative and a Unicode class take longer to compile than other instructions. */
const ALTERNATIVE_SIZE = 10;
const UNICODE_CLASS_SIZE = 20;

/**
 * Translates a pattern to the syntax of RE2. All groups become non-capturing.
 *
 * @throws PatternError
 */
function translatePattern(pattern: string): Translation {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new PatternError("is too long");
  const strict = escapePunctuation(pattern);
  if (!isRegExpSource(strict)) throw new PatternError("does not compile");
  return new PatternTranslator(strict).translate();
}

const ESCAPED_CHARACTER = /\\([^])/g;
const ESCAPED_CHARACTER_OR_BRACKET = /\\([^])|[[\]]/g;
const NEEDLESSLY_ESCAPED = /[ !"#%&',\-:;<=>@_`~]/;

/**
 * Many servers escape `:` or `-`, which the flag `u` does not allow: `^https\:` becomes `^https\x3a`. Without the escape,
 * `a{1\,2}` would become another pattern that is valid.
 */
function escapePunctuation(pattern: string): string {
  return pattern.replaceAll(ESCAPED_CHARACTER, (escape, character: string) =>
    NEEDLESSLY_ESCAPED.test(character)
      ? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`
      : escape,
  );
}

/**
 * Returns a pattern without needless escapes, for programs that compile it with the flag `u`: `^https\:` becomes
 * `^https:`. In a class, `\-` is needed.
 */
export function toStrictPattern(pattern: string): string {
  let isInClass = false;
  return pattern.replaceAll(ESCAPED_CHARACTER_OR_BRACKET, (token, character?: string) => {
    if (character === undefined) isInClass = token === "[";
    else if (NEEDLESSLY_ESCAPED.test(character) && !(isInClass && character === "-")) return character;
    return token;
  });
}

/** Parses a pattern without running it. Also excludes what is valid only in the syntax of RE2. */
function isRegExpSource(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").unicode;
  } catch {
    return false;
  }
}

class PatternTranslator {
  readonly #pattern: string;
  #position = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  /** `^(?=A)(?!B)C` becomes the conjunction of `^C`, `^A` and not `^B`. */
  translate(): Translation {
    const lookaheads: (Fragment & { readonly isNegative: boolean })[] = [];
    if (this.#pattern.startsWith("^(?=") || this.#pattern.startsWith("^(?!")) {
      this.#position = 1;
      for (let match = this.#consume(LOOKAHEAD); match !== null; match = this.#consume(LOOKAHEAD)) {
        const { fragment } = this.#parseAlternatives();
        this.#position += 1;
        lookaheads.push({ isNegative: match[1] === "!", ...fragment });
      }
    }
    const { fragment, alternatives } = this.#parseAlternatives();
    if (lookaheads.length > 0 && alternatives > 1) throw new PatternError("uses a lookahead");
    const size = lookaheads.reduce((sum, lookahead) => sum + lookahead.size, fragment.size);
    const source = lookaheads.length === 0 ? fragment.source : `^${fragment.source}`;
    return { ...fragment, source, size, lookaheads };
  }

  #consume(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#position;
    const match = expression.exec(this.#pattern);
    if (match !== null) this.#position = expression.lastIndex;
    return match;
  }

  #parseAlternatives(): { readonly fragment: Fragment; readonly alternatives: number } {
    let source = "";
    let size = 0;
    let repeat = 1;
    let alternatives = 1;
    for (let next = this.#next(); next !== undefined && next !== ")"; next = this.#next()) {
      if (next === "|") {
        this.#position += 1;
        alternatives += 1;
        source += "|";
        size += ALTERNATIVE_SIZE;
      } else {
        const term = repeatFragment(this.#parseAtom(next), this.#consume(QUANTIFIER));
        source += term.source;
        size += term.size;
        repeat = Math.max(repeat, term.repeat);
      }
      if (size > MAX_SIZE) throw new PatternError("is too large");
    }
    return { fragment: { source, size, repeat }, alternatives };
  }

  #next(): string | undefined {
    return this.#pattern[this.#position];
  }

  #parseAtom(next: string): Fragment {
    if (next === "(") return this.#parseGroup();
    const source = this.#parseSingle(next);
    return { source, size: /\\[pP]/.test(source) ? UNICODE_CLASS_SIZE : 1, repeat: 1 };
  }

  #parseSingle(next: string): string {
    if (next === "[") return this.#parseClass();
    if (next === "\\") {
      const item = this.#parseEscape("outside");
      return "source" in item ? item.source : toLiteral(item.codePoint);
    }
    if (next === ".") {
      this.#position += 1;
      return `[^${LINE_TERMINATORS}]`;
    }
    if (next === "^" || next === "$") {
      this.#position += 1;
      return next;
    }
    return toLiteral(this.#parseCharacter());
  }

  #parseCharacter(): number {
    const codePoint = this.#pattern.codePointAt(this.#position) ?? 0;
    this.#position += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  #parseGroup(): Fragment {
    const kind = this.#consume(GROUP)?.[1] ?? "";
    if (kind === "=" || kind === "!") throw new PatternError("uses a lookahead");
    if (kind === "<=" || kind === "<!") throw new PatternError("uses a lookbehind");
    if (kind !== "" && kind !== ":" && !kind.startsWith("<")) throw new PatternError("uses inline flags");
    const { fragment } = this.#parseAlternatives();
    this.#position += 1;
    return { ...fragment, source: `(?:${fragment.source})`, size: fragment.size + 1 };
  }

  #parseEscape(place: "inside" | "outside"): ClassItem {
    const [, sign, name, braced, high, low, unit, byte, control, backreference, other = ""] =
      this.#consume(ESCAPE) ?? [];
    if (sign !== undefined) return { source: toProperty(sign, name ?? "", place) };
    const digits = braced ?? unit ?? byte;
    if (digits !== undefined) return { codePoint: Number.parseInt(digits, 16) };
    if (high !== undefined && low !== undefined) return { codePoint: toCodePoint(high, low) };
    if (control !== undefined) return { codePoint: control.charCodeAt(0) % 32 };
    if (backreference !== undefined) throw new PatternError("uses a backreference");
    if (other === "s" || other === "S") return { source: toSet(other === "s" ? SPACES : NOT_SPACES, place) };
    if ("dDwW".includes(other)) return { source: `\\${other}` };
    if ("bB".includes(other)) return place === "inside" ? { codePoint: 8 } : { source: `\\${other}` };
    return { codePoint: CONTROLS[other] ?? other.codePointAt(0) ?? 0 };
  }

  #parseClass(): string {
    this.#position += 1;
    const isNegated = this.#next() === "^";
    if (isNegated) this.#position += 1;
    let items = "";
    while (this.#next() !== "]") items += this.#parseClassRange();
    this.#position += 1;
    if (items === "") return isNegated ? `[${ALL_CHARACTERS}]` : `[^${ALL_CHARACTERS}]`;
    return `[${isNegated ? "^" : ""}${items}]`;
  }

  #parseClassRange(): string {
    const from = this.#parseClassItem();
    if ("source" in from) return from.source;
    const isRange = this.#next() === "-" && this.#pattern[this.#position + 1] !== "]";
    if (!isRange) return toHex(from.codePoint);
    this.#position += 1;
    const to = this.#parseClassItem();
    return `${toHex(from.codePoint)}-${"source" in to ? to.source : toHex(to.codePoint)}`;
  }

  #parseClassItem(): ClassItem {
    return this.#next() === "\\" ? this.#parseEscape("inside") : { codePoint: this.#parseCharacter() };
  }
}

function repeatFragment(atom: Fragment, quantifier: RegExpExecArray | null): Fragment {
  if (quantifier === null) return atom;
  const [, sign, least, comma, most] = quantifier;
  if (sign !== undefined) return { ...atom, source: atom.source + sign, size: atom.size + 1 };
  const min = Number(least);
  const max = comma === "" ? min : most === "" ? Number.POSITIVE_INFINITY : Number(most);
  const optional = max === Number.POSITIVE_INFINITY ? 1 : max - min;
  if ((min + optional) * atom.size > MAX_SIZE) throw new PatternError("is too large");
  const limit = Math.max(1, Math.floor(MAX_REPEAT / atom.repeat));
  let source = "";
  for (let rest = min; rest > 0; rest -= limit) source += `${atom.source}{${Math.min(rest, limit)}}`;
  const tail =
    max === Number.POSITIVE_INFINITY
      ? { source: `${atom.source}*`, size: atom.size + 1 }
      : repeatOptional(atom, optional, limit);
  const repeat = Math.min(MAX_REPEAT, atom.repeat * Math.max(1, Math.min(limit, min + optional)));
  return { source: `(?:${source}${tail.source})`, size: 1 + min * atom.size + tail.size, repeat };
}

/**
 * Larger counts than RE2 allows are split without ambiguity, so that the automaton stays small: `x{0,1500}` becomes
 * `(?:x{0,999}|x{1000}x{0,500})`.
 */
function repeatOptional(atom: Fragment, max: number, limit: number): Pick<Fragment, "source" | "size"> {
  if (max === 0) return { source: "", size: 0 };
  if (max <= limit) return { source: `${atom.source}{0,${max}}`, size: max * (atom.size + 1) };
  const short = repeatOptional(atom, limit - 1, limit);
  const long = repeatOptional(atom, max - limit, limit);
  return {
    source: `(?:${short.source}|${atom.source}{${limit}}${long.source})`,
    size: short.size + limit * atom.size + long.size + 1,
  };
}

function toProperty(sign: string, name: string, place: "inside" | "outside"): string {
  // Part of a common pattern for emoji; RE2 does not have the property.
  if (sign === "p" && name === "Regional_Indicator") return toSet(String.raw`\x{1f1e6}-\x{1f1ff}`, place);
  const value = name.replace(/^(?:General_Category|gc|Script|sc)=/u, "");
  if (value.includes("=")) throw new PatternError("uses a Unicode property that is not supported");
  return `\\${sign}{${value === "ASCII" ? "Ascii" : (CATEGORIES[value] ?? value)}}`;
}

function toSet(ranges: string, place: "inside" | "outside"): string {
  return place === "inside" ? ranges : `[${ranges}]`;
}

function toCodePoint(high: string, low: string): number {
  const pair = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
  return pair.codePointAt(0) ?? 0;
}

function toHex(codePoint: number): string {
  return `\\x{${codePoint.toString(16)}}`;
}

function toLiteral(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  return /^[A-Za-z0-9]$/.test(character) ? character : toHex(codePoint);
}
