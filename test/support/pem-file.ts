import { readFileSync } from "node:fs";

/** A certificate or key of `certificates/`, made by the script there. For tests only. */
export function pemFile(
  name:
    | "authority"
    | "stranger"
    | "server"
    | "server-key"
    | "other-names"
    | "expired"
    | "client"
    | "client-key"
    | "stranger-client",
): string {
  return readFileSync(new URL(`./certificates/${name}.pem`, import.meta.url), "utf8");
}
