import { z } from "zod";
import { isPlainObject } from "../json/json.js";
import { addIssueAt, option, parsePart } from "./parse-options.js";

/**
 * More items than any array has that a server sends for one of these schemas, and more keys than any object.
 */
const MAX_ITEMS = 10_000;

/**
 * The schema of an array from a server, store or authorization server. `z.array` creates an issue for each
 * invalid item, which takes more memory than a process has if there are millions. This one stops at the
 * first, and limits the number of items.
 */
export function receivedArray<T extends object | string>(item: z.ZodType<T>) {
  return option.opaque<readonly unknown[]>("an array", Array.isArray).transform((values, context): T[] => {
    if (values.length > MAX_ITEMS) {
      addIssueAt(context, [], `has more than ${MAX_ITEMS} items`);
      return z.NEVER;
    }
    const items: T[] = [];
    for (const [index, value] of values.entries()) {
      const parsed = parsePart(item, value, context, [index]);
      if (parsed === undefined) return z.NEVER;
      items.push(parsed);
    }
    return items;
  });
}

/** Like `receivedArray`, for an object with any keys. */
export function receivedRecord<T extends object | string>(key: z.ZodType<string>, item: z.ZodType<T>) {
  return option
    .opaque<Readonly<Record<string, unknown>>>("an object", isPlainObject)
    .transform((values, context): Record<string, T> => {
      const names = Object.keys(values);
      if (names.length > MAX_ITEMS) {
        addIssueAt(context, [], `has more than ${MAX_ITEMS} keys`);
        return z.NEVER;
      }
      const entries: [string, T][] = [];
      for (const name of names) {
        // As in `z.record`: assigning it would replace a prototype.
        if (name === "__proto__") continue;
        const parsedName = parsePart(key, name, context);
        const parsed = parsedName === undefined ? undefined : parsePart(item, values[name], context, [name]);
        if (parsedName === undefined || parsed === undefined) return z.NEVER;
        entries.push([parsedName, parsed]);
      }
      return Object.fromEntries(entries);
    });
}
