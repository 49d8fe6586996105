/**
 * `{{ RUNPOD_SECRET_name }}`, with or without blanks. A name that no secret can have counts too: nothing is overlooked.
 * The blanks after the name are part of the match and trimmed by `nameIn`: a pattern that tells them apart takes
 * quadratic time.
 */
const REFERENCE = /\{\{\s*RUNPOD_SECRET_([^{}]*)\}\}/g;

function nameIn(captured: string): string {
  return captured.trimEnd();
}

/** What every reference contains: for a quick look at a whole record. */
export const REFERENCE_PREFIX = 'RUNPOD_SECRET_';

/** The names of the secrets that values of `env` name, each once, in the order in which they appear. */
export function secretNamesIn(env: Readonly<Record<string, string>>): string[] {
  const names = new Set<string>();
  for (const value of Object.values(env)) {
    if (!value.includes(REFERENCE_PREFIX)) continue;
    for (const match of value.matchAll(REFERENCE)) names.add(nameIn(match[1]!));
  }
  return [...names];
}

/** `env` with each reference replaced by what `secretOf` answers. What comes out is not searched again. */
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
