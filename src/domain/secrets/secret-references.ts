/**
 * `{{ RUNPOD_SECRET_name }}`, with or without blanks. Matches names that no secret can have, too, so that their error is
 * reported. Blanks after the name are matched and trimmed by `nameIn`: a pattern that excludes them takes quadratic time.
 */
const REFERENCE = /\{\{\s*RUNPOD_SECRET_([^{}]*)\}\}/g;

function nameIn(captured: string): string {
  return captured.trimEnd();
}

/** Part of every reference: for a quick check of a whole record. */
export const REFERENCE_PREFIX = 'RUNPOD_SECRET_';

/** Returns the names of the secrets that `env` references, each once, in order of appearance. */
export function secretNamesIn(env: Readonly<Record<string, string>>): string[] {
  const names = new Set<string>();
  for (const value of Object.values(env)) {
    if (!value.includes(REFERENCE_PREFIX)) continue;
    for (const match of value.matchAll(REFERENCE)) names.add(nameIn(match[1]!));
  }
  return [...names];
}

/** Returns `env` with each reference replaced by the result of `secretOf`, which is not searched again. */
export function replaceReferences(
  env: Readonly<Record<string, string>>,
  secretOf: (name: string) => string,
): Record<string, string> {
  const replaced = Object.entries(env).map(([variable, value]) => [
    variable,
    value.includes(REFERENCE_PREFIX)
      ? value.replace(REFERENCE, (_, captured: string) => secretOf(nameIn(captured)))
      : value,
  ]);
  return Object.fromEntries(replaced);
}
