import { inspect } from "node:util";
import { errorCode } from "./failure-kinds.js";
import { truncate, MAX_TEXT_LENGTH } from "./sanitize-text.js";

const REDACTED = "[redacted]";

/**
 * Credentials that are recognizable by their form. A token has to contain a digit or an uppercase letter, so
 * that "Bearer token missing" is not redacted.
 */
const CREDENTIAL_PATTERNS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b([Bb]earer|BEARER|[Bb]asic|BASIC|DPoP)\s+["']?(?=\S+[\dA-Z])[\w\-.~+/]{4,}=*/g, `$1 ${REDACTED}`],
  [/\/\/[^/\s"'<>]+@/g, `//${REDACTED}@`],
  [/([?&#][\w.~%[\]-]+=)[^&\s"'<>#]+/g, `$1${REDACTED}`],
];

/** Redacting shorter values would damage ordinary words. */
const MIN_SECRET_LENGTH = 4;

/** Limits on how much of a cause is inspected and kept. */
const MAX_CAUSE_DEPTH = 12;
const MAX_INSPECTED_LENGTH = 50_000;
const MAX_INSPECTED_ITEMS = 200;
/** A stack includes its message. */
const MAX_STACK_LENGTH = 2 * MAX_TEXT_LENGTH;
const MAX_NAME_LENGTH = 200;

/** Matches what `inspect` prints in place of omitted content: `[Object]`, `[Error]`, `3 more items`. */
const INSPECT_ELLIPSIS =
  /[:>,[{]\s+\[(?!Getter|Setter)[^\]\s:]+\](?!:)|\[Object: null prototype\](?! \{)|\d more (?:item|character)/;

/** The number of rotating secrets that are kept; the oldest are evicted first. */
const MAX_ROTATING_SECRETS = 4_096;

/** Redacts recognizable credentials. */
export function redactText(text: string): string {
  return CREDENTIAL_PATTERNS.reduce(
    (redacted, [pattern, replacement]) => redacted.replace(pattern, replacement),
    text,
  );
}

/** Returns a URL without user info, query and fragment, or `undefined` if it has no host. */
export function redactUrl(url: URL | string): string | undefined {
  const parsed = URL.canParse(String(url)) ? new URL(url) : undefined;
  if (parsed === undefined || parsed.host === "") return undefined;
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** Like `redactUrl`, for any scheme: `file:///a.txt`, `postgres://host/table`. */
export function redactUri(uri: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  Object.assign(url, { username: "", password: "", search: "", hash: "" });
  return url.href;
}

/**
 * Redacts secrets that are known by value, wherever a server may have echoed them. There is one redactor per
 * server.
 */
export class Redactor {
  readonly #secrets = new Set<string>();
  readonly #rotating = new Set<string>();

  constructor(secrets: Iterable<string> = []) {
    this.add(secrets);
  }

  add(secrets: Iterable<string>): void {
    for (const secret of secrets) if (secret.length >= MIN_SECRET_LENGTH) this.#secrets.add(secret);
  }

  /** Adds a token that changes over time. Called with every request, so known tokens return early. */
  addRotating(secret: string, encodingsOf: (secret: string) => readonly string[]): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#rotating.has(secret)) return;
    for (const encoding of [secret, ...encodingsOf(secret)]) this.#rotating.add(encoding);
    for (const oldest of this.#rotating) {
      if (this.#rotating.size <= MAX_ROTATING_SECRETS) return;
      this.#rotating.delete(oldest);
    }
  }

  /** Redacts known secrets and recognizable credentials. */
  redact(text: string): string {
    return redactText(this.#redactKnown(text));
  }

  /** Whether a text contains a secret that is known by value. */
  containsSecret(text: string): boolean {
    return this.#redactKnown(text) !== text;
  }

  /** Returns a redacted copy of plain JSON, or `undefined` if it cannot be serialized. */
  redactJson(value: unknown): unknown {
    try {
      const text = JSON.stringify(value, (_, item: unknown) =>
        typeof item === "string" ? this.redact(item) : item,
      );
      return text === undefined ? undefined : JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  /** Returns the cause itself, or a redacted copy if it contains a secret or is too large to inspect. */
  redactCause(cause: unknown): unknown {
    return this.#redactCause(cause, new Set());
  }

  #redactCause(cause: unknown, seen: Set<unknown>): unknown {
    if (typeof cause === "string") return this.#redactAndTruncate(cause);
    if (typeof cause !== "object" || cause === null || this.#isClean(cause)) return cause;
    if (!(cause instanceof Error)) return this.#redactAndTruncate(inspect(cause));
    if (seen.has(cause) || seen.size === MAX_CAUSE_DEPTH) return undefined;
    seen.add(cause);
    return this.#redactError(cause, this.#redactCause(cause.cause, seen));
  }

  /**
   * Inspects everything that could be printed: fields, non-enumerable fields, causes and nested values. A
   * value that is too large to inspect completely is not clean.
   */
  #isClean(value: object): boolean {
    const inspected = inspect(value, {
      depth: MAX_CAUSE_DEPTH,
      showHidden: true,
      maxStringLength: MAX_TEXT_LENGTH,
      maxArrayLength: MAX_INSPECTED_ITEMS,
    });
    const isComplete = inspected.length < MAX_INSPECTED_LENGTH && !INSPECT_ELLIPSIS.test(inspected);
    return isComplete && this.redact(inspected) === inspected;
  }

  /** Copies only the name, message, stack and code. */
  #redactError(error: Error, redactCause: unknown): Error {
    const message = this.redact(error.message);
    const copy = new Error(
      truncate(message, MAX_TEXT_LENGTH),
      redactCause === undefined ? {} : { cause: redactCause },
    );
    copy.name = truncate(this.redact(error.name), MAX_NAME_LENGTH);
    copy.stack = truncate(
      this.redact(error.stack ?? "").replace(message, () => copy.message),
      MAX_STACK_LENGTH,
    );
    const code = errorCode(error);
    if (typeof code === "string") Object.assign(copy, { code: truncate(this.redact(code), MAX_NAME_LENGTH) });
    if (typeof code === "number") Object.assign(copy, { code });
    return copy;
  }

  /** Truncates last: a secret that is cut in two would not be recognized. */
  #redactAndTruncate(text: string): string {
    return truncate(this.redact(text), MAX_TEXT_LENGTH);
  }

  /** Secrets may overlap, so all occurrences are found before any is replaced. */
  #redactKnown(text: string): string {
    const occurrences = [...this.#secrets, ...this.#rotating]
      .flatMap((secret) => findOccurrences(secret, text))
      .toSorted((a, b) => a.start - b.start || b.end - a.end);
    let clean = "";
    let position = 0;
    for (const { start, end } of occurrences) {
      if (start >= position) clean += `${text.slice(position, start)}${REDACTED}`;
      position = Math.max(position, end);
    }
    return clean + text.slice(position);
  }
}

function findOccurrences(secret: string, text: string): { readonly start: number; readonly end: number }[] {
  // Verbatim, and escaped as in JSON or in the output of `inspect`.
  const encodings = new Set([secret, JSON.stringify(secret).slice(1, -1)]);
  return [...encodings].flatMap((encoding) => {
    const occurrences = [];
    for (let start = text.indexOf(encoding); start !== -1; start = text.indexOf(encoding, start + 1)) {
      occurrences.push({ start, end: start + encoding.length });
    }
    return occurrences;
  });
}
