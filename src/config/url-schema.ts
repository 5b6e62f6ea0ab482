import { z } from "zod";
import { redactUrl } from "../errors/redaction.js";
import { describeValue } from "../json/describe-value.js";

/** An address of one of these protocols. What was written instead is told without its secrets. */
export function addressOf(...protocols: string[]) {
  const expected = protocols.map((protocol) => `${protocol}//`).join(" or ");
  return z
    .custom<string | URL>((value) => typeof value === "string" || value instanceof URL, {
      error: (issue) =>
        `expected an address that starts with ${expected}, found ${describeValue(issue.input)}`,
    })
    .transform((value, context) => {
      const url = URL.canParse(String(value)) ? new URL(value) : undefined;
      if (url !== undefined && protocols.includes(url.protocol)) return url;
      context.addIssue(`expected an address that starts with ${expected}, found ${describeAddress(value)}`);
      return z.NEVER;
    });
}

function describeAddress(value: string | URL): string {
  const shown = redactUrl(value);
  return shown === undefined ? describeValue(value) : `"${shown}"`;
}
