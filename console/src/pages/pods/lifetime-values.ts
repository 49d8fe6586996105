/** Maps a time to the value of a `datetime-local` field, in the browser's time zone; null to an empty one. */
export function toFieldValue(time: string | null): string {
  if (time === null) return '';
  const date = new Date(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** The opposite. */
export function fromFieldValue(value: string): string | null {
  return value === '' ? null : new Date(value).toISOString();
}
