/** Limit of any text in a body: the fields that may be longer together are lists of texts. */
const MAX_TEXT_LENGTH = 100 * 1024;

/**
 * Lists the texts in `data` that are too long, or that the database cannot store, each as `location: problem`. JSON can carry
 * NUL and lone surrogates, in values and in names; PostgreSQL stores neither.
 */
export function badTexts(data: unknown, path: string): string[] {
  if (typeof data === 'string') {
    if (data.length > MAX_TEXT_LENGTH) return [`${path || '$'}: must have at most ${MAX_TEXT_LENGTH} characters`];
    if (data.includes('\0')) return [`${path || '$'}: must not contain the character NUL`];
    return data.isWellFormed() ? [] : [`${path || '$'}: must be well-formed Unicode`];
  }
  if (typeof data !== 'object' || data === null) return [];
  return Object.entries(data).flatMap(([name, value]) => {
    const own = Array.isArray(data) ? [] : badTexts(name, path);
    return own.length > 0 ? own : badTexts(value, `${path}/${name}`);
  });
}
