import { isPlainObject } from "../../json/json.js";
import { quoteServer } from "../../errors/sanitize-text.js";

/** What VS Code asks a person for: `${input:id}`. */
export interface ConfigInput {
  readonly value: string | undefined;
  readonly description: string | undefined;
  readonly isSecret: boolean;
}

/** The inputs that a file declares, with the answers that were given; an answer needs no declaration. */
export function readInputs(
  declared: unknown,
  answers: Readonly<Record<string, string>>,
): ReadonlyMap<string, ConfigInput> {
  const items: readonly unknown[] = Array.isArray(declared) ? declared : [];
  const given = Object.entries(answers).map(([id, value]): [string, ConfigInput] => [
    id,
    { value, description: undefined, isSecret: true },
  ]);
  return new Map([...given, ...items.flatMap((item) => readInput(item, answers))]);
}

function readInput(item: unknown, answers: Readonly<Record<string, string>>): [string, ConfigInput][] {
  if (!isPlainObject(item) || typeof item["id"] !== "string") return [];
  const { id, type, description, default: fallback, password } = item;
  // One of type "command" would run something: it can only be answered.
  const preset = type !== "command" && typeof fallback === "string" ? fallback : undefined;
  const answer = Object.hasOwn(answers, id) ? answers[id] : undefined;
  const text = typeof description === "string" ? quoteServer(description) : undefined;
  return [[id, { value: answer ?? preset, description: text, isSecret: password === true }]];
}
