/**
 * Lists the texts in `data` that the database cannot store, each as `location: problem`. JSON can carry NUL and lone
 * surrogates, in values and in names; PostgreSQL stores neither.
 */
export function badTexts(data: unknown, path: string): string[] {
  if (typeof data === 'string') {
    if (data.includes('\0')) return [`${path || '$'}: must not contain the character NUL`];
    return data.isWellFormed() ? [] : [`${path || '$'}: must be well-formed Unicode`];
  }
  if (typeof data !== 'object' || data === null) return [];
  return Object.entries(data).flatMap(([name, value]) => {
    const own = Array.isArray(data) ? [] : badTexts(name, path);
    return own.length > 0 ? own : badTexts(value, `${path}/${name}`);
  });
}
