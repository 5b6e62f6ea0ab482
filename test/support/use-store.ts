// A store in a process of its own, used by messages of its parent. Ends with it.
import { fileStore, type KeyValueStore, redisStore } from "../../src/stores/index.js";

export interface StoreRequest {
  readonly id: number;
  readonly method: "get" | "set" | "delete" | "list" | "watch";
  readonly args: readonly never[];
}

export type StoreAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly told: string | null };

const PATIENT = { timeoutMs: 30_000 };
const [, , kind, place = ""] = process.argv;
const store: KeyValueStore = kind === "file" ? fileStore(place, PATIENT) : redisStore(place, PATIENT);

async function answer({ id, method, args }: StoreRequest): Promise<void> {
  const use: (...args: readonly never[]) => Promise<unknown> =
    method === "watch"
      ? async () => {
          await store.watch?.((key) => send({ told: key ?? null }));
        }
      : store[method].bind(store);
  send({ id, result: await use(...args) });
}

function send(message: StoreAnswer): void {
  process.send?.(message);
}

process.on("message", (request: StoreRequest) => void answer(request));
process.on("disconnect", () => process.exit(0));
