/** True when `head` is in `bytes` from `at` on. */
export function hasAt(bytes: Buffer, at: number, head: Buffer): boolean {
  const end = at + head.length;
  if (end > bytes.length) return false;
  const part = head.length === bytes.length ? bytes : bytes.subarray(at, end);
  return part.equals(head); // with the view faster than `compare` with offsets
}

/** Copies outside node's buffer pool, where a small copy would keep 8 KiB alive. */
export function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
