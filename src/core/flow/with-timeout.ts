/** Resolves or rejects like `work`; rejects with `error()` after `ms`. The work itself is not stopped. */
export async function withTimeout<T>(work: Promise<T>, ms: number, error: () => Error): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(error()), Math.max(1, ms));
  try {
    return await Promise.race([work, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
