/**
 * Returns this process's share of a limit that all data-plane processes share, so that requests need no coordination. The
 * shares add up to `total`, except that each process gets at least one, or a request could reach a process that may not
 * serve it. `key` spreads the remainder over the processes.
 */
export function shareOf(total: number, processIds: readonly string[], processId: string, key: string): number {
  const count = Math.max(1, processIds.length);
  const place = (Math.max(0, processIds.indexOf(processId)) + hash(key)) % count;
  return Math.max(Math.min(total, 1), Math.floor(total / count) + (place < total % count ? 1 : 0));
}

/** FNV-1a: the same in every process. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
