import { z } from "zod";

/** `z.strictObject` that names what is allowed when it meets a key it does not know. */
export function closedObject<Shape extends z.ZodRawShape>(shape: Shape, alsoAllowed: readonly string[] = []) {
  const allowed = [...alsoAllowed, ...Object.keys(shape)].join(", ");
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      return `unknown key ${issue.keys.map(describeKey).join(", ")}; allowed are ${allowed}`;
    },
  });
}

function describeKey(key: string): string {
  return /^[\w$.-]{1,40}$/.test(key) ? JSON.stringify(key) : "that is no name";
}
