/** With everything in it, and without recursion: a server's schema may be nested deeper than the stack. */
export function deepFreeze<T>(root: T): T {
  if (root === undefined) return root;
  const left: unknown[] = [root];
  for (let next = left.pop(); left.length > 0 || next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    // One by one: a list of a hundred thousand values is more than a call takes.
    for (const value of Object.values(next)) left.push(value);
  }
  return root;
}
