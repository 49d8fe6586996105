/** Returns the items in their order, each once: the same data center twice is no mistake worth a refusal. */
export function withoutRepeats<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
