import { ApiError, messageOf } from '../api/api-error.ts';

export interface FormErrors {
  /** Form field → the server's message. */
  fields: Record<string, string>;
  /** Messages about no field of the form. */
  other: string[];
}

/**
 * Assigns the errors of a failed save to the form's fields: `/workers/min: must be >= 0` goes to `workers.min`, or to
 * `workers` if the form has only that. A field listed earlier takes precedence.
 */
export function sortErrors(error: unknown, fields: readonly string[]): FormErrors {
  if (!(error instanceof ApiError) || error.errors.length === 0) return { fields: {}, other: [messageOf(error)] };
  const sorted: FormErrors = { fields: {}, other: [] };
  for (const text of error.errors) {
    const [location = '', ...words] = text.split(': ');
    const path = location.replace(/^\$?\/?/, '').replaceAll('/', '.');
    const field = fields.find((name) => path === name || path.startsWith(`${name}.`));
    if (field === undefined) sorted.other.push(text);
    else sorted.fields[field] = words.join(': ');
  }
  return sorted;
}
