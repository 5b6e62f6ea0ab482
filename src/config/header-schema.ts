import { z } from "zod";

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that can be sent. */
export const HEADERS = z.record(
  z.string().regex(HEADER_NAME, { error: "has a key that is no header name" }),
  z.string().regex(HEADER_VALUE, { error: "a header value has no line breaks or control characters" }),
);
