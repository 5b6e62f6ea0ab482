import { z } from "zod";
import type { RootsOption } from "../../config/server-request-handlers.js";
import { type Answerer, parseGiven } from "./server-request-handler.js";

const ROOTS = z.array(
  z.object({
    uri: z
      .union([z.string(), z.instanceof(URL)])
      .transform(String)
      .refine((uri) => uri.startsWith("file://"), { error: "expected an address that starts with file://" }),
    name: z.string().optional(),
  }),
);

/** `roots/list`. */
export function answerRoots(roots: RootsOption): Answerer {
  return () => async (context) => {
    const given = typeof roots === "function" ? await roots(context) : roots;
    return { roots: parseGiven(ROOTS, "roots", given) };
  };
}
