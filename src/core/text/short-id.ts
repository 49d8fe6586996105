/** Returns an id for people who tell it from others: its end does that, its beginning is the time. Short ids stay whole. */
export function shortId(id: string): string {
  return id.length <= 22 ? id : `${id.slice(0, 8)}…${id.slice(-11)}`;
}
