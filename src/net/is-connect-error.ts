import { whyNoTls } from "./tls-errors.js";

const STEPS: ReadonlySet<unknown> = new Set(["getaddrinfo", "connect"]);

/** Whether an error alone says that its connection never came about, so that nothing went over it. */
export function neverConnected(error: Error): boolean {
  const code: unknown = Reflect.get(error, "code");
  return (
    STEPS.has(Reflect.get(error, "syscall")) ||
    code === "UND_ERR_CONNECT_TIMEOUT" ||
    (typeof code === "string" && whyNoTls(code) !== undefined)
  );
}
