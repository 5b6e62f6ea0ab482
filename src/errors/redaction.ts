const REDACTED = "[redacted]";

/**
 * Credentials that can be recognised without knowing them. A token has a digit or a capital letter
 * inside: "Bearer token missing" is a sentence and stays one.
 */
const RECOGNISABLE: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b([Bb]earer|BEARER|[Bb]asic|BASIC)\s+(?=\S+[\dA-Z])[\w\-.~+/]{4,}=*/g, `$1 ${REDACTED}`],
  [/\/\/[^/\s@"'<>]+@/g, `//${REDACTED}@`],
  [/([?&][\w.~%-]+=)[^&\s"'<>#]+/g, `$1${REDACTED}`],
];

/** A shorter value would tear holes into ordinary words, and is no secret worth the name. */
const SHORTEST_SECRET = 4;

/** Removes what looks like a credential from a text that people will read. */
export function redactText(text: string): string {
  return RECOGNISABLE.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text);
}

/** An address as it may be shown: no user, no password, no query, no fragment. */
export function redactUrl(url: URL | string): string {
  if (!URL.canParse(String(url))) return redactText(String(url));
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/**
 * Removes secrets that are known by value, wherever a server may have echoed them.
 * One redactor knows the secrets of one server.
 */
export class Redactor {
  readonly #secrets: readonly string[];

  constructor(secrets: Iterable<string> = []) {
    const distinct = new Set([...secrets].filter((secret) => secret.length >= SHORTEST_SECRET));
    // The longest first: "Bearer abc" must not leave "Bearer " behind because "abc" went before it.
    this.#secrets = [...distinct].toSorted((a, b) => b.length - a.length);
  }

  text(text: string): string {
    const known = this.#secrets.reduce((clean, secret) => clean.replaceAll(secret, REDACTED), text);
    return redactText(known);
  }

  /** The cause as it was, or a clean copy of it when something in it must not be shown. */
  cause(cause: unknown): unknown {
    if (typeof cause === "string") return this.text(cause);
    if (!(cause instanceof Error)) return cause;
    const inner = this.cause(cause.cause);
    const isClean =
      this.text(cause.message) === cause.message && inner === cause.cause && !this.#isInFieldsOf(cause);
    return isClean ? cause : this.#cleanCopy(cause, inner);
  }

  #isInFieldsOf(error: Error): boolean {
    return Object.values(error).some((value) => {
      if (value instanceof Error) return this.cause(value) !== value;
      const text = typeof value === "string" ? value : safeStringify(value);
      return this.#secrets.some((secret) => text.includes(secret));
    });
  }

  /** Only the fields that tell a reader what happened are copied: name, text, stack, code. */
  #cleanCopy(error: Error, cause: unknown): Error {
    const copy = new Error(this.text(error.message), cause === undefined ? {} : { cause });
    copy.name = error.name;
    copy.stack = this.text(error.stack ?? "");
    const code: unknown = Reflect.get(error, "code");
    if (typeof code === "string" || typeof code === "number") Object.assign(copy, { code });
    return copy;
  }
}

function safeStringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}
