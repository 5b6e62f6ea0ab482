/**
 * Maps items like `Promise.all`, with at most `limit` (at least one) running at a time. Results keep the order
 * of the items. After a failure no further item is started.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  const queue = items.entries();
  let hasFailed = false;
  const worker = async () => {
    for (const [index, item] of queue) {
      if (hasFailed) return;
      try {
        results[index] = await work(item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const workerCount = Math.max(1, Math.min(Math.floor(limit) || 1, items.length));
  await Promise.all(Array.from({ length: workerCount }, worker));
  return results;
}
