/** User and password of an address as basic authentication sends them; `undefined` when it has none. */
export function basicCredentials({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  return Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64");
}

/** A text that was not encoded as it should be is taken as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
