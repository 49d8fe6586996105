/** Returns the row that a key moves to from `current` (null: none has the focus); null if the key moves nowhere. */
export function nextRow(key: string, current: number | null, count: number): number | null {
  if (count === 0) return null;
  const last = count - 1;
  switch (key) {
    case 'j':
    case 'ArrowDown':
      return current === null ? 0 : Math.min(last, current + 1);
    case 'k':
    case 'ArrowUp':
      return current === null ? 0 : Math.max(0, current - 1);
    case 'Home':
      return 0;
    case 'End':
      return last;
    default:
      return null;
  }
}
