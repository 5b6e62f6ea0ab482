import { z } from "zod";

/** A `z.strictObject` that lists the valid keys when a key is unknown. */
export function strictObject<Shape extends z.ZodRawShape>(shape: Shape, alsoAllowed: readonly string[] = []) {
  const allowed = [...alsoAllowed, ...Object.keys(shape)].join(", ");
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      return `unknown key ${issue.keys.map(describeKey).join(", ")}; valid keys: ${allowed}`;
    },
  });
}

/** Long or unusual keys are not shown: they may be secrets. */
function describeKey(key: string): string {
  return /^[\w$.-]{1,40}$/.test(key) ? JSON.stringify(key) : "(name not shown)";
}
