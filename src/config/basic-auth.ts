/** The user and password of a URL, encoded for basic authentication; `undefined` when it has neither. */
export function toBasicAuth({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  return Buffer.from(`${tryDecodeURIComponent(username)}:${tryDecodeURIComponent(password)}`).toString(
    "base64",
  );
}

/** Returns text with invalid percent-encoding unchanged. */
export function tryDecodeURIComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
