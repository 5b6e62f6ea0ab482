import type { CancelScope } from "../../async/cancel-scope.js";
import type { ConfigProblem } from "./config-problem.js";
import { parseConfigText } from "./parse-config-text.js";
import { MOST_BYTES, MOST_BYTES_OF_OTHERS, type OpenFileAt, readConfigFile } from "./read-config-file.js";

export interface ReadConfig {
  readonly text: string;
  readonly value: unknown;
}

/** Reads each file once, whoever asks for it. */
export class ConfigReader {
  readonly #openFile: OpenFileAt;
  readonly #cancellation: CancelScope;
  readonly #read = new Map<string, Promise<ReadConfig | ConfigProblem>>();

  constructor(openFile: OpenFileAt, cancellation: CancelScope) {
    this.#openFile = openFile;
    this.#cancellation = cancellation;
  }

  /** Its content, or what is wrong. */
  read(file: string, mostBytes = MOST_BYTES): Promise<ReadConfig | ConfigProblem> {
    const known = this.#read.get(file);
    if (known !== undefined) return known;
    const reading = this.#readNow(file, mostBytes);
    this.#read.set(file, reading);
    return reading;
  }

  /** As it is, without looking into it. */
  async text(file: string, mostBytes = MOST_BYTES_OF_OTHERS): Promise<string | ConfigProblem> {
    // A file on a network that is gone is waited for by nobody but the system.
    const found = await this.#cancellation.race(
      readConfigFile(file, { openFile: this.#openFile, mostBytes }),
    );
    if (found.state === "read") return found.text;
    if (found.state === "missing")
      return { kind: "missing-file", file, message: "The file is not there. Is its path right?" };
    return { kind: "unreadable", file, message: `The file ${found.problem}.` };
  }

  async #readNow(file: string, mostBytes: number): Promise<ReadConfig | ConfigProblem> {
    const text = await this.text(file, mostBytes);
    if (typeof text !== "string") return text;
    const parsed = await parseConfigText(text);
    if ("value" in parsed) return { text, value: parsed.value };
    const message = `The file ${parsed.problem}. Comments and trailing commas are allowed.`;
    return { kind: "broken-json", file, message, ...parsed.place };
  }
}
