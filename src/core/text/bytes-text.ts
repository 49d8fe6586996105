/** Returns a size in words: `512 B`, `1.5 MB`, `16.4 GB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const [unit, size] = bytes < 1_000_000 ? ['kB', 1_000] : bytes < 1_000_000_000 ? ['MB', 1_000_000] : ['GB', 1e9];
  return `${(bytes / (size as number)).toFixed(1)} ${unit}`;
}
