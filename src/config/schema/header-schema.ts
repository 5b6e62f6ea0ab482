import { z } from "zod";

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers with valid HTTP names and values. */
export const HEADERS_SCHEMA = z.record(
  z.string().regex(HEADER_NAME, { error: "contains an invalid header name" }),
  z
    .string()
    .regex(HEADER_VALUE, { error: "header values must not contain line breaks or control characters" }),
);
