import { excerpt } from "../../errors/sanitize-text.js";
import { toArray, toObject } from "../../json/json.js";
import { isSecretName } from "../collect-secrets.js";
import type { PathIssue } from "../parse-options.js";

/** The values that references in a file can resolve to. */
export interface VariableScope {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Predefined variables such as `workspaceFolder`. */
  readonly predefined: ReadonlyMap<string, string>;
  readonly inputs: ReadonlyMap<string, ConfigInput>;
  /** Whether `$NAME` without braces is a reference. */
  readonly hasBareVariables: boolean;
}

/** Predefined variables that reveal nothing about the user. */
const SEPARATORS: ReadonlySet<string> = new Set(["pathSeparator", "/"]);
const NAMED = /^(?:env:)?([A-Za-z_][\w.()-]*)(?::-(.*))?$/s;
const INPUT = /^input:(.+)$/s;
const BARE = /\$([A-Za-z_]\w*)/g;

/** Valid definitions are not deeper. Deeper values are left unexpanded and rejected by validation. */
const MAX_VALUE_DEPTH = 8;
/** The depth of nested defaults. */
const MAX_REFERENCE_DEPTH = 8;
/** A file of others may refer to a long variable any number of times, so what an entry expands to is limited. */
const MAX_EXPANDED_CHARS = 1_000_000;
/** What a reference counts at least: an unknown variable is a problem, which is larger than its value. */
const MIN_REFERENCE_CHARS = 16;

/**
 * Expands `${NAME}`, `${NAME:-default}` and similar references in strings, but not in keys. Values are not
 * expanded again, and commands are never run: `$(…)` is left unchanged.
 */
export class VariableExpander {
  readonly problems: PathIssue[] = [];
  /** All referenced variables, with or without a value: `NAME`, `input:id` and `predefined:userHome`. */
  readonly variables = new Set<string>();
  /** Values to redact. */
  readonly secrets = new Set<string>();
  readonly #scope: VariableScope;
  #remainingChars = MAX_EXPANDED_CHARS;

  constructor(scope: VariableScope) {
    this.#scope = scope;
  }

  expand(value: unknown, path: readonly PropertyKey[]): unknown {
    if (typeof value === "string") return this.#expandText(value, path, 0);
    if (typeof value !== "object" || value === null || path.length > MAX_VALUE_DEPTH) return value;
    if (Array.isArray(value)) return value.map((item, index) => this.expand(item, [...path, index]));
    const entries = Object.entries(value).map(([key, item]) => [key, this.expand(item, [...path, key])]);
    return Object.fromEntries(entries);
  }

  #expandText(text: string, path: readonly PropertyKey[], depth: number): string {
    let expanded = "";
    let done = 0;
    for (let start = text.indexOf("${"); start !== -1; start = text.indexOf("${", done)) {
      if (this.#remainingChars < 0) return expanded;
      expanded += this.#expandBare(text.slice(done, start), path);
      const end = findClosingBrace(text, start + 2);
      if (end === undefined || depth === MAX_REFERENCE_DEPTH) {
        const what = end === undefined ? "has an unclosed ${" : "has defaults nested too deeply";
        this.problems.push({ path, message: what });
        return expanded;
      }
      expanded += this.#limit(this.#resolveReference(text.slice(start + 2, end), path, depth), path);
      done = end + 1;
    }
    return expanded + this.#expandBare(text.slice(done), path);
  }

  #expandBare(text: string, path: readonly PropertyKey[]): string {
    if (!this.#scope.hasBareVariables) return text;
    return text.replace(BARE, (_, name: string) =>
      this.#remainingChars < 0 ? "" : this.#limit(this.#resolveVariable(name, undefined, path) ?? "", path),
    );
  }

  #limit(value: string, path: readonly PropertyKey[]): string {
    this.#remainingChars -= Math.max(value.length, MIN_REFERENCE_CHARS);
    if (this.#remainingChars >= 0) return value;
    const message = `its variables expand to more than ${MAX_EXPANDED_CHARS} characters`;
    this.problems.push({ path, message });
    return "";
  }

  #resolveReference(reference: string, path: readonly PropertyKey[], depth: number): string {
    const { predefined } = this.#scope;
    const predefinedValue = predefined.get(reference);
    if (predefinedValue !== undefined) {
      if (!SEPARATORS.has(reference)) this.variables.add(`predefined:${reference}`);
      return predefinedValue;
    }
    const [, name, fallback] = NAMED.exec(reference) ?? [];
    if (name !== undefined) {
      const value = this.#resolveVariable(name, fallback, path);
      return value ?? this.#expandText(fallback ?? "", path, depth + 1);
    }
    const [, id] = INPUT.exec(reference) ?? [];
    if (id !== undefined) return this.#resolveInput(id, path);
    this.problems.push({ path, message: describeUnsupportedSyntax(reference) });
    return "";
  }

  /** `undefined` when the default applies. As in a shell, that includes an empty variable. */
  #resolveVariable(
    name: string,
    fallback: string | undefined,
    path: readonly PropertyKey[],
  ): string | undefined {
    const value = this.#scope.env[name];
    this.variables.add(name);
    if (typeof value === "string" && (value !== "" || fallback === undefined)) {
      if (isSecretName(name)) this.secrets.add(value);
      return value;
    }
    if (fallback !== undefined) return undefined;
    const message = `needs the environment variable ${name}, which is not set: set it, or write \${${name}:-default}`;
    this.problems.push({ path, message });
    return "";
  }

  #resolveInput(id: string, path: readonly PropertyKey[]): string {
    const input = this.#scope.inputs.get(id);
    this.variables.add(`input:${id}`);
    if (input?.value !== undefined) {
      if (input.isSecret) this.secrets.add(input.value);
      return input.value;
    }
    const prompt = input?.description === undefined ? "" : ` (${input.description})`;
    const name = JSON.stringify(excerpt(id));
    const hint = `pass loadMcpServers({ inputs: { ${name}: "…" } })`;
    const message = `needs the input ${name}${prompt}, which has no value: ${hint}`;
    this.problems.push({ path, message });
    return "";
  }
}

/** Finds the end of a reference, skipping nested references in its default. */
function findClosingBrace(text: string, from: number): number | undefined {
  let open = 1;
  for (let index = from; index < text.length; index += 1) {
    if (text.startsWith("${", index)) open += 1;
    else if (text[index] === "}") open -= 1;
    if (open === 0) return index;
  }
  return undefined;
}

/** Shows only the prefix of the reference: the rest may contain secrets. */
function describeUnsupportedSyntax(reference: string): string {
  const [, prefix] = /^([A-Za-z]{1,20}):/.exec(reference) ?? [];
  const what = prefix === undefined ? "an unsupported ${…}" : `\${${prefix}:…}, which is not supported`;
  const never = prefix === "command" ? " (commands are never run)" : "";
  return `has ${what}${never}: write \${NAME} or \${NAME:-default} and set the environment variable NAME`;
}

/** An input that VS Code would prompt the user for: `${input:id}`. */
export interface ConfigInput {
  readonly value: string | undefined;
  readonly description: string | undefined;
  readonly isSecret: boolean;
}

/** The inputs that a file declares, with the given answers. Answers need no declaration. */
export function parseInputs(
  declared: unknown,
  answers: Readonly<Record<string, string>>,
): ReadonlyMap<string, ConfigInput> {
  const inputs = new Map<string, ConfigInput>();
  for (const [id, value] of Object.entries(answers))
    inputs.set(id, { value, description: undefined, isSecret: true });
  for (const item of toArray(declared)) {
    const { id, type, description, default: fallback, password } = toObject(item);
    if (typeof id !== "string") continue;
    // Commands are never run: an input of type "command" needs an answer.
    const preset = type !== "command" && typeof fallback === "string" ? fallback : undefined;
    inputs.set(id, {
      value: Object.hasOwn(answers, id) ? answers[id] : preset,
      description: typeof description === "string" ? excerpt(description) : undefined,
      isSecret: password === true,
    });
  }
  return inputs;
}
