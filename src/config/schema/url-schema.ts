import { z } from "zod";
import { redactUrl } from "../../errors/redaction.js";
import { describeValue } from "../../json/describe-value.js";

/** A URL with one of these protocols. Error messages show the received URL without its secrets. */
export function urlSchema(...protocols: string[]) {
  const expected = protocols.map((protocol) => `${protocol}//`).join(" or ");
  return z
    .custom<string | URL>((value) => typeof value === "string" || value instanceof URL, {
      error: (issue) => `expected a URL starting with ${expected}, got ${describeValue(issue.input)}`,
    })
    .transform((value, context) => {
      const url = URL.canParse(String(value)) ? new URL(value) : undefined;
      if (url !== undefined && protocols.includes(url.protocol)) return url;
      context.addIssue(`expected a URL starting with ${expected}, got ${describeUrl(value)}`);
      return z.NEVER;
    });
}

function describeUrl(value: string | URL): string {
  const shown = redactUrl(value);
  return shown === undefined ? describeValue(value) : `"${shown}"`;
}
