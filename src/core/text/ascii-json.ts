const NOT_ASCII = /[\u007f-\uffff]/g;

/**
 * Returns JSON of ASCII characters alone, the others escaped: errors have media types without a charset, and some clients read
 * those as Latin-1.
 */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(NOT_ASCII, escapeUnit);
}

/** Returns the escape of a UTF-16 code unit in JSON. */
export function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
