import { inspect } from "node:util";
import { cutText, LONGEST_TEXT } from "./sanitize-text.js";

const REDACTED = "[redacted]";

/**
 * Credentials that can be recognised without knowing them. A token has a digit or a capital letter
 * inside: "Bearer token missing" is a sentence and stays one.
 */
const RECOGNISABLE: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b([Bb]earer|BEARER|[Bb]asic|BASIC|DPoP)\s+["']?(?=\S+[\dA-Z])[\w\-.~+/]{4,}=*/g, `$1 ${REDACTED}`],
  [/\/\/[^/\s"'<>]+@/g, `//${REDACTED}@`],
  [/([?&#][\w.~%[\]-]+=)[^&\s"'<>#]+/g, `$1${REDACTED}`],
];

/** A shorter value would tear holes into ordinary words, and is no secret worth the name. */
const SHORTEST_SECRET = 4;

/** How much of a cause is looked at, and kept: what a person would ever read of it, and then some. */
const MOST_LEVELS = 12;
const MOST_CHARACTERS = 50_000;
const MOST_ITEMS = 200;
/** A stack begins with its message. */
const LONGEST_STACK = 2 * LONGEST_TEXT;
const LONGEST_NAME = 200;

/** What inspect writes for what is nested too deep (`[Object]`, `[Error]`), and for the rest of what is too long. */
const LEFT_OUT =
  /[:>,[{]\s+\[(?!Getter|Setter)[^\]\s:]+\](?!:)|\[Object: null prototype\](?! \{)|\d more (?:item|character)/;

/** How many credentials that come and go are remembered; the oldest is forgotten first. */
const MOST_PASSING = 4_096;

/** Removes what looks like a credential from a text that people will read. */
export function redactText(text: string): string {
  return RECOGNISABLE.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text);
}

/** An address as it may be shown: no user, no password, no query, no fragment. Only one with a host can be. */
export function redactUrl(url: URL | string): string | undefined {
  const parsed = URL.canParse(String(url)) ? new URL(url) : undefined;
  if (parsed === undefined || parsed.host === "") return undefined;
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** As `redactUrl`, for an address of any scheme: `file:///a.txt`, `postgres://host/table`. */
export function redactUri(uri: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  Object.assign(url, { username: "", password: "", search: "", hash: "" });
  return url.href;
}

/**
 * Removes secrets that are known by value, wherever a server may have echoed them.
 * One redactor knows the secrets of one server.
 */
export class Redactor {
  readonly #secrets = new Set<string>();
  readonly #passing = new Set<string>();

  constructor(secrets: Iterable<string> = []) {
    this.add(secrets);
  }

  add(secrets: Iterable<string>): void {
    for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) this.#secrets.add(secret);
  }

  /** Tokens that change: used with every request, so the ones that are known already cost nothing. */
  addPassing(secret: string, formsOf: (secret: string) => readonly string[]): void {
    if (secret.length < SHORTEST_SECRET || this.#passing.has(secret)) return;
    for (const form of [secret, ...formsOf(secret)]) this.#passing.add(form);
    for (const oldest of this.#passing) {
      if (this.#passing.size <= MOST_PASSING) return;
      this.#passing.delete(oldest);
    }
  }

  text(text: string): string {
    return redactText(this.#withoutKnown(text));
  }

  /** Whether a secret that is known by value stands in a text. */
  knows(text: string): boolean {
    return this.#withoutKnown(text) !== text;
  }

  /** A copy of plain JSON without secrets. What cannot be copied is left out. */
  json(value: unknown): unknown {
    try {
      const text = JSON.stringify(value, (_, part: unknown) =>
        typeof part === "string" ? this.text(part) : part,
      );
      return text === undefined ? undefined : JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  /** The cause as it was, or a clean copy when anything in it must not be shown, or is too long for that. */
  cause(cause: unknown): unknown {
    return this.#cause(cause, new Set());
  }

  #cause(cause: unknown, seen: Set<unknown>): unknown {
    if (typeof cause === "string") return this.#short(cause);
    if (typeof cause !== "object" || cause === null || this.#isClean(cause)) return cause;
    if (!(cause instanceof Error)) return this.#short(inspect(cause));
    if (seen.has(cause) || seen.size === MOST_LEVELS) return undefined;
    seen.add(cause);
    return this.#cleanCopy(cause, this.#cause(cause.cause, seen));
  }

  /**
   * Looks at all that could be printed: fields, hidden ones, causes, whatever is nested in them. What
   * is too much to look at is not clean.
   */
  #isClean(value: object): boolean {
    const shown = inspect(value, {
      depth: MOST_LEVELS,
      showHidden: true,
      maxStringLength: LONGEST_TEXT,
      maxArrayLength: MOST_ITEMS,
    });
    const isWhole = shown.length < MOST_CHARACTERS && !LEFT_OUT.test(shown);
    return isWhole && this.text(shown) === shown;
  }

  /** Only what tells a reader what happened is copied: name, text, stack, code. */
  #cleanCopy(error: Error, cause: unknown): Error {
    const message = this.text(error.message);
    const copy = new Error(cutText(message, LONGEST_TEXT), cause === undefined ? {} : { cause });
    copy.name = cutText(this.text(error.name), LONGEST_NAME);
    copy.stack = cutText(
      this.text(error.stack ?? "").replace(message, () => copy.message),
      LONGEST_STACK,
    );
    const code: unknown = Reflect.get(error, "code");
    if (typeof code === "string") Object.assign(copy, { code: cutText(this.text(code), LONGEST_NAME) });
    if (typeof code === "number") Object.assign(copy, { code });
    return copy;
  }

  /** Cut at last, so that no secret is cut in two and goes unnoticed. */
  #short(text: string): string {
    return cutText(this.text(text), LONGEST_TEXT);
  }

  /** Secrets may overlap in a text, so all their places are found before any is replaced. */
  #withoutKnown(text: string): string {
    const places = [...this.#secrets, ...this.#passing]
      .flatMap((secret) => placesOf(secret, text))
      .toSorted((a, b) => a.start - b.start || b.end - a.end);
    let clean = "";
    let done = 0;
    for (const { start, end } of places) {
      if (start >= done) clean += `${text.slice(done, start)}${REDACTED}`;
      done = Math.max(done, end);
    }
    return clean + text.slice(done);
  }
}

function placesOf(secret: string, text: string): { readonly start: number; readonly end: number }[] {
  // As it is, and as it stands in JSON or in the output of inspect.
  const forms = new Set([secret, JSON.stringify(secret).slice(1, -1)]);
  return [...forms].flatMap((form) => {
    const places = [];
    for (let start = text.indexOf(form); start !== -1; start = text.indexOf(form, start + 1)) {
      places.push({ start, end: start + form.length });
    }
    return places;
  });
}
