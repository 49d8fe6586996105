/**
 * What one process may use of a limit that all processes of the data plane share, so that nobody has to ask the others for
 * each request. The shares of all add up to `total`, but for limits smaller than the number of processes: each has at
 * least one, or a request could meet a process that may not serve it. `key` decides who gets what cannot be divided, so
 * that it is not the same process for everything.
 */
export function shareOf(total: number, processIds: readonly string[], processId: string, key: string): number {
  const count = Math.max(1, processIds.length);
  const place = (Math.max(0, processIds.indexOf(processId)) + hash(key)) % count;
  return Math.max(Math.min(total, 1), Math.floor(total / count) + (place < total % count ? 1 : 0));
}

/** FNV-1a: the same in all processes. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
