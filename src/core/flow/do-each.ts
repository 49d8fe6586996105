/**
 * Does `work` for each item, one after the other: one that fails holds up no other. Then rejects with the first failure, so that a
 * loop logs it and runs again.
 */
export async function doEach<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
