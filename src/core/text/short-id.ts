/** Returns a short form of an id for people. The end distinguishes ids, the beginning is the time. Short ids stay whole. */
export function shortId(id: string): string {
  return id.length <= 22 ? id : `${id.slice(0, 8)}…${id.slice(-11)}`;
}
