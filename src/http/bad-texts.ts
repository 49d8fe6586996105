/**
 * What is wrong with texts in `data`, each `location: what`. The database stores neither NUL nor half of a surrogate pair; a
 * JSON text can carry both, in values and in names.
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
