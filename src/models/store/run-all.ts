/** Runs `work` for each item; the first failure cancels the others, and is thrown once they have ended. */
export async function runAll<T, Result>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const results = items.map((item) =>
    work(item, either).catch((error) => {
      failed.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(results);
  signal.throwIfAborted();
  failed.signal.throwIfAborted();
  return Promise.all(results);
}
