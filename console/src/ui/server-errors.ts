import { ApiError } from '../api/api-error.ts';

export interface FormRefusal {
  /** Form field → the server's words. */
  fields: Record<string, string>;
  /** What belongs to no field, or to several. */
  rest: string[];
}

/**
 * Puts a refusal where it belongs: `/workers/min: must be >= 0` goes to the field `workers.min` when there is one. What
 * names no field of the form is for the top of it.
 */
export function sortRefusal(error: unknown, fields: readonly string[]): FormRefusal {
  const refusal: FormRefusal = { fields: {}, rest: [] };
  if (!(error instanceof ApiError) || error.errors.length === 0) {
    refusal.rest.push(error instanceof Error ? error.message : String(error));
    return refusal;
  }
  for (const text of error.errors) {
    const [location = '', ...words] = text.split(': ');
    const path = location.replace(/^\$?\/?/, '').replaceAll('/', '.');
    const field = fields.find((name) => path === name || path.startsWith(`${name}.`));
    if (field === undefined) refusal.rest.push(text);
    else refusal.fields[field] = words.join(': ');
  }
  return refusal;
}
