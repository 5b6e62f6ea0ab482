import { isSecretName } from "../collect-secrets.js";
import type { ConfigInput } from "./config-inputs.js";

/** What references in a file can lead to. */
export interface VariableScope {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Such as `workspaceFolder`. */
  readonly predefined: ReadonlyMap<string, string>;
  readonly inputs: ReadonlyMap<string, ConfigInput>;
  /** Whether `$NAME` is a reference, too. */
  readonly hasBareVariables: boolean;
}

export interface VariableProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

const NAMED = /^(?:env:)?([A-Za-z_][\w.()-]*)(?::-(.*))?$/s;
const INPUT = /^input:(.+)$/s;
const BARE = /\$([A-Za-z_]\w*)/g;

/** A definition is not deeper; what is goes to the check as it is, and is refused there. */
const DEEPEST_VALUE = 8;
/** Of defaults within defaults. */
const DEEPEST_REFERENCE = 8;

/**
 * Puts values in the place of `${NAME}`, `${NAME:-default}` and their like, in texts and never in
 * keys. A value is not looked into again, and nothing is ever run: `$(…)` stays as it is.
 */
export class VariableExpansion {
  readonly problems: VariableProblem[] = [];
  /** What was referred to, whether or not it has a value. */
  readonly variables = new Set<string>();
  /** Values that nobody should see. */
  readonly secrets = new Set<string>();
  readonly #scope: VariableScope;

  constructor(scope: VariableScope) {
    this.#scope = scope;
  }

  expand(value: unknown, path: readonly PropertyKey[]): unknown {
    if (typeof value === "string") return this.#text(value, path, 0);
    if (typeof value !== "object" || value === null || path.length > DEEPEST_VALUE) return value;
    if (Array.isArray(value)) return value.map((item, index) => this.expand(item, [...path, index]));
    const entries = Object.entries(value).map(([key, item]) => [key, this.expand(item, [...path, key])]);
    return Object.fromEntries(entries);
  }

  #text(text: string, path: readonly PropertyKey[], depth: number): string {
    let expanded = "";
    let done = 0;
    for (let start = text.indexOf("${"); start !== -1; start = text.indexOf("${", done)) {
      expanded += this.#bare(text.slice(done, start), path);
      const end = closingBrace(text, start + 2);
      if (end === undefined || depth === DEEPEST_REFERENCE) {
        const what = end === undefined ? "has a ${ without its }" : "has defaults nested too deeply";
        this.problems.push({ path, message: what });
        return expanded;
      }
      expanded += this.#reference(text.slice(start + 2, end), path, depth);
      done = end + 1;
    }
    return expanded + this.#bare(text.slice(done), path);
  }

  #bare(text: string, path: readonly PropertyKey[]): string {
    if (!this.#scope.hasBareVariables) return text;
    return text.replace(BARE, (_, name: string) => this.#variable(name, undefined, path) ?? "");
  }

  #reference(reference: string, path: readonly PropertyKey[], depth: number): string {
    const { predefined } = this.#scope;
    const known = predefined.get(reference);
    if (known !== undefined) return known;
    const [, name, fallback] = NAMED.exec(reference) ?? [];
    if (name !== undefined) {
      const value = this.#variable(name, fallback, path);
      return value ?? this.#text(fallback ?? "", path, depth + 1);
    }
    const [, id] = INPUT.exec(reference) ?? [];
    if (id !== undefined) return this.#input(id, path);
    this.problems.push({ path, message: notUnderstood(reference) });
    return "";
  }

  /** `undefined`: its default counts, as in a shell also where it is empty. */
  #variable(name: string, fallback: string | undefined, path: readonly PropertyKey[]): string | undefined {
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

  #input(id: string, path: readonly PropertyKey[]): string {
    const input = this.#scope.inputs.get(id);
    this.variables.add(`input:${id}`);
    if (input?.value !== undefined) {
      if (input.isSecret) this.secrets.add(input.value);
      return input.value;
    }
    const asked = input?.description === undefined ? "" : ` (${input.description})`;
    const answer = `give loadMcpServers({ inputs: { ${JSON.stringify(id)}: "…" } })`;
    const message = `needs the input ${JSON.stringify(id)}${asked}, which has no value: ${answer}`;
    this.problems.push({ path, message });
    return "";
  }
}

/** Where a reference ends, past those in its default. */
function closingBrace(text: string, from: number): number | undefined {
  let open = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text.startsWith("${", at)) open += 1;
    else if (text[at] === "}") open -= 1;
    if (open === 0) return at;
  }
  return undefined;
}

/** Only its kind is told: the rest may be anything. */
function notUnderstood(reference: string): string {
  const [, kind] = /^([A-Za-z]{1,20}):/.exec(reference) ?? [];
  const what = kind === undefined ? "a ${…} that is not understood" : `\${${kind}:…}, which is not read here`;
  const never = kind === "command" ? " (commands are never run)" : "";
  return `has ${what}${never}: write \${NAME} or \${NAME:-default} and set the environment variable NAME`;
}
