import { inspect, types } from "node:util";
import { errorCode } from "./failure-kinds.js";
import { MIN_SECRET_LENGTH, REDACTED, SecretIndex } from "./secret-index.js";
import { excerpt, MAX_TEXT_LENGTH, stripHiddenCharacters, truncate, UNPRINTABLE } from "./sanitize-text.js";

/**
 * Credentials that are recognizable by their form. A token has to contain a digit or an uppercase letter, so
 * that "Bearer token missing" is not redacted.
 */
const CREDENTIAL_PATTERNS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b([Bb]earer|BEARER|[Bb]asic|BASIC|DPoP)\s+["']?(?=\S+[\dA-Z])[\w\-.~+/]{4,}=*/g, `$1 ${REDACTED}`],
  [/\/\/[^/\s"'<>]+@/g, `//${REDACTED}@`],
  [/([?&#][\w.~%[\]-]+=)[^&\s"'<>#]+/g, `$1${REDACTED}`],
];

/** The limit for a log message, which may contain several texts. */
export const MAX_MESSAGE_LENGTH = 16_384;
/** The limit for a string in recorded arguments and results. */
const MAX_RECORDED_LENGTH = 65_536;
/** How much of a text is dropped at the position where it is cut, because it may be a part of a credential. */
const MAX_CUT_LENGTH = 512;

/** Limits on how much of a cause is inspected and kept. */
const MAX_CAUSE_DEPTH = 12;
const MAX_INSPECTED_LENGTH = 50_000;
const MAX_INSPECTED_VALUES = 2_000;
const MAX_INSPECTED_ITEMS = 200;
/** A stack includes its message. */
const MAX_STACK_LENGTH = 2 * MAX_TEXT_LENGTH;
const MAX_NAME_LENGTH = 200;

/** Matches what `inspect` prints in place of omitted content: `[Object]`, `[Error]`, `3 more items`. */
const INSPECT_ELLIPSIS =
  /[:>,[{]\s+\[(?!Getter|Setter)[^\]\s:]+\](?!:)|\[Object: null prototype\](?! \{)|\d more (?:item|character)/;

/** The number of rotating secrets that are kept when they are no longer in use; the oldest are evicted first. */
const MAX_ROTATING_SECRETS = 4_096;
/** How many of the oldest secrets are examined for each added one. More than one, so that their number shrinks again. */
const EVICTION_STEPS = 4;

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

/** Keeps a rotating secret from being evicted, as long as the lease is referenced. It has no content. */
export type SecretLease = object;

interface RotatingSecret {
  readonly encodings: readonly string[];
  readonly lease: WeakRef<SecretLease>;
}

/**
 * Redacts secrets that are known by value, wherever a server may have echoed them. There is one redactor per
 * server. A server's text may have any length, so each method looks at its beginning only; a secret at the end of
 * what is shown is redacted as a whole.
 */
export class Redactor {
  readonly #index = new SecretIndex();
  readonly #rotating = new Map<string, RotatingSecret>();
  /** The redactors that include this one. */
  readonly #followers = new Set<Redactor>();

  constructor(secrets: Iterable<string> = []) {
    this.add(secrets);
  }

  add(secrets: Iterable<string>): void {
    for (const encoding of toPrintedForms(secrets)) this.#addEncoding(encoding);
  }

  /** Redacts the secrets of another redactor, too, also those that it gets later: for messages about several servers. */
  include(other: Redactor): void {
    other.#followers.add(this);
    for (const encoding of other.#index) this.#addEncoding(encoding);
  }

  exclude(other: Redactor): void {
    if (!other.#followers.delete(this)) return;
    for (const encoding of other.#index) this.#removeEncoding(encoding);
  }

  /**
   * Adds a token that changes over time. Called with every request, so known tokens return early. Keep the lease for as
   * long as the token is in use: the server of a request in flight can echo it, however many tokens followed.
   */
  addRotating(secret: string, encodingsOf: (secret: string) => readonly string[]): SecretLease | undefined {
    if (secret.length < MIN_SECRET_LENGTH) return undefined;
    const known = this.#rotating.get(secret);
    const current = known?.lease.deref();
    if (current !== undefined) return current;
    const encodings = known?.encodings ?? toPrintedForms([secret, ...encodingsOf(secret)]);
    if (known === undefined) for (const encoding of encodings) this.#addEncoding(encoding);
    const lease: SecretLease = {};
    this.#rotating.delete(secret);
    this.#rotating.set(secret, { encodings, lease: new WeakRef(lease) });
    this.#evictUnused();
    return lease;
  }

  /**
   * Redacts known secrets and recognizable credentials in the first `maxLength` characters of a text. Hidden characters are
   * removed only if they separate the characters of a secret, so that nothing is left to find when they are removed later.
   */
  redact(text: string, maxLength: number = MAX_TEXT_LENGTH): string {
    const redacted = this.#redactAsWritten(text, maxLength);
    const visible = stripHiddenCharacters(redacted);
    return visible === redacted || this.#isCleanText(visible)
      ? redacted
      : this.#redactAsWritten(visible, maxLength);
  }

  /** Like `redact`, without hidden characters. */
  sanitize(text: string, maxLength: number = MAX_TEXT_LENGTH): string {
    const redacted = this.#redactAsWritten(text, maxLength);
    const visible = stripHiddenCharacters(redacted);
    return visible === redacted ? redacted : this.#redactAsWritten(visible, maxLength);
  }

  /** Returns the beginning of a server's text as a short single line for a message. */
  excerpt(text: string): string {
    // Once more, because a line break may separate the words of a secret.
    return this.#redactAsWritten(excerpt(this.sanitize(text)), MAX_TEXT_LENGTH);
  }

  /** Whether a text contains a secret that is known by value, also with hidden characters in it. */
  containsSecret(text: string): boolean {
    if (this.#index.redact(text) !== text) return true;
    const visible = stripHiddenCharacters(text);
    return visible !== text && this.#index.redact(visible) !== visible;
  }

  /**
   * Returns a redacted copy of plain JSON, or `undefined` if it cannot be serialized. Property names and numbers are
   * redacted, too, and long strings are truncated.
   */
  redactJson(value: unknown): unknown {
    try {
      const text = JSON.stringify(value, (_, item: unknown) => this.#redactItem(item));
      return text === undefined ? undefined : JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  /** Returns the cause itself, or a redacted copy if it contains a secret or is too large to inspect. */
  redactCause(cause: unknown): unknown {
    try {
      return this.#redactCause(cause, new Set());
    } catch {
      return UNPRINTABLE;
    }
  }

  /** Does not see what hidden characters separate. */
  #redactAsWritten(text: string, maxLength: number): string {
    if (text.length <= maxLength) return truncate(redactText(this.#index.redact(text)), maxLength);
    const shownLength = maxLength + MAX_CUT_LENGTH;
    const start = text.slice(0, shownLength + this.#index.maxLength);
    const redacted = redactText(this.#index.redact(start, shownLength));
    return truncate(`${dropCutWord(redacted)}…`, maxLength);
  }

  #redactItem(item: unknown): unknown {
    if (typeof item === "string") return this.redact(item, MAX_RECORDED_LENGTH);
    if (typeof item === "number") return this.#index.has(String(item)) ? REDACTED : item;
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    const isClean = Object.keys(item).every((key) => !this.containsSecret(key));
    return isClean
      ? item
      : Object.fromEntries(Object.entries(item).map(([key, child]) => [this.redact(key), child]));
  }

  #isCleanText(text: string): boolean {
    return redactText(this.#index.redact(text)) === text;
  }

  #redactCause(cause: unknown, seen: Set<unknown>): unknown {
    if (typeof cause === "string") return this.sanitize(cause);
    if (typeof cause !== "object" || cause === null) return cause;
    const isLarge = exceedsInspectionLimits(cause);
    if (!isLarge && this.#isClean(cause)) return cause;
    if (!(cause instanceof Error))
      return isLarge ? "[too large]" : this.redact(toVisible(this.redact(inspect(cause))));
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
    return isComplete && [inspected, toVisible(inspected)].every((text) => this.#isCleanText(text));
  }

  /** Copies only the name, message, stack and code. */
  #redactError(error: Error, redactedCause: unknown): Error {
    const message = this.sanitize(error.message);
    const copy = new Error(message, redactedCause === undefined ? {} : { cause: redactedCause });
    copy.name = this.sanitize(error.name, MAX_NAME_LENGTH);
    copy.stack = this.#redactStack(error, message);
    const code = errorCode(error);
    if (typeof code === "string") Object.assign(copy, { code: this.sanitize(code, MAX_NAME_LENGTH) });
    if (typeof code === "number") Object.assign(copy, { code });
    return copy;
  }

  /** The stack starts with the message, which may be much longer than the stack itself. */
  #redactStack({ message, stack = "" }: Error, redactedMessage: string): string {
    const start = message === "" ? -1 : stack.indexOf(message);
    if (start === -1) return this.sanitize(stack, MAX_STACK_LENGTH);
    const before = this.sanitize(stack.slice(0, start), MAX_NAME_LENGTH);
    return `${before}${redactedMessage}${this.sanitize(stack.slice(start + message.length))}`;
  }

  /** A secret that is in use moves to the end: it is examined again after the others. */
  #evictUnused(): void {
    for (let step = 0; step < EVICTION_STEPS && this.#rotating.size > MAX_ROTATING_SECRETS; step += 1) {
      const [oldest] = this.#rotating;
      if (oldest === undefined) return;
      const [secret, rotating] = oldest;
      this.#rotating.delete(secret);
      if (rotating.lease.deref() !== undefined) this.#rotating.set(secret, rotating);
      else for (const encoding of rotating.encodings) this.#removeEncoding(encoding);
    }
  }

  #addEncoding(encoding: string): void {
    this.#index.add(encoding);
    for (const follower of this.#followers) follower.#addEncoding(encoding);
  }

  #removeEncoding(encoding: string): void {
    this.#index.remove(encoding);
    for (const follower of this.#followers) follower.#removeEncoding(encoding);
  }
}

/** What quotes the text of a server needs. Hidden characters are removed and secrets redacted in one step. */
export type TextRedactor = Pick<Redactor, "sanitize" | "excerpt">;

/** Removes hidden characters from what `inspect` has printed, which escapes some of them in strings. */
function toVisible(inspected: string): string {
  const unescaped = inspected.replace(/\\(?:x([\dA-F]{2})|[bfr])/g, (_, code: string = "0") =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return stripHiddenCharacters(unescaped);
}

/** Drops the last word of a text that was cut in it. */
function dropCutWord(text: string): string {
  const lastWord = text.slice(-MAX_CUT_LENGTH).split(/\s/).at(-1) ?? "";
  return text.slice(0, text.length - lastWord.length);
}

/** Each secret verbatim, escaped as in JSON or in the output of `inspect`, and as it is shown. */
function toPrintedForms(secrets: Iterable<string>): string[] {
  const forms = Array.from(secrets, (secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    stripHiddenCharacters(secret),
  ]);
  return [...new Set(forms.flat())];
}

/** Whether a value has too many or too long parts for `inspect`, which has no limit for them. Calls no getters. */
function exceedsInspectionLimits(value: object): boolean {
  const pending: unknown[] = [value];
  const seen = new Set<unknown>();
  let length = 0;
  while (pending.length > 0) {
    const item = pending.pop();
    if (typeof item === "string") length += item.length;
    if (length > MAX_INSPECTED_LENGTH) return true;
    if (typeof item !== "object" || item === null || seen.has(item)) continue;
    seen.add(item);
    const children = listChildren(item);
    if (children === undefined || seen.size + pending.length + children.length > MAX_INSPECTED_VALUES)
      return true;
    for (const child of children) pending.push(child);
  }
  return false;
}

/** Returns the values in an object; `undefined` if there are too many. `inspect` limits typed arrays itself. */
function listChildren(item: object): unknown[] | undefined {
  if (types.isProxy(item)) return undefined;
  if (ArrayBuffer.isView(item)) return [];
  if (Array.isArray(item) && item.length > MAX_INSPECTED_VALUES) return undefined;
  const keys = Reflect.ownKeys(item);
  if (keys.length > MAX_INSPECTED_VALUES) return undefined;
  const fields = keys.map((key): unknown => Reflect.getOwnPropertyDescriptor(item, key)?.value);
  if (!(item instanceof Map || item instanceof Set)) return fields;
  return item.size > MAX_INSPECTED_VALUES ? undefined : [...fields, ...item.keys(), ...item.values()];
}
