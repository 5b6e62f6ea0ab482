import { unlessAborted } from "../async/race-abort.js";
import type { JwtSource } from "../config/auth-grant.js";
import { isJwt } from "../config/auth-grant-schema.js";

export interface GiverOfJwts {
  /** Ends the waiting for a function of the user's. */
  readonly signal: AbortSignal;
  /** Told of each secret before it is used. */
  readonly keepSecret: (secret: string) => void;
}

/** The JWT itself, freshly asked for where a function gives it. What is read from files ends in a line break. */
export async function jwtFrom(source: JwtSource, name: string, giver: GiverOfJwts): Promise<string> {
  const { signal, keepSecret } = giver;
  const given: unknown =
    typeof source === "string"
      ? source
      : await unlessAborted(signal, () => source({ signal })).catch((error: unknown) => {
          const said = error instanceof Error ? error.message : String(error);
          throw new Error(`The function ${name} failed: ${said}`, { cause: error });
        });
  const jwt = typeof given === "string" ? given.trim() : given;
  if (!isJwt(jwt)) throw new Error(`The function ${name} gave no JWT.`);
  keepSecret(jwt);
  return jwt;
}
