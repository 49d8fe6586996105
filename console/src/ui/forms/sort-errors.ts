import { wordFieldError } from '../../../../src/core/text/field-words.ts';
import { ApiError, messageOf } from '../../api/api-error.ts';

const TAKEN = /\bthere is already an? [\w ]{1,40} named\b|\bname is taken\b/;

/** The place of an item of a list: `models[0]: …`. */
const ITEM = /^([A-Za-z]+)\[\d+\]: (.+)$/s;

export interface FormErrors {
  /** Form field → the server's message. */
  fields: Record<string, string>;
  /** Messages about no field of the form. */
  other: string[];
}

/**
 * Assigns the errors of a failed save to the form's fields, in people's words: `/workers/min: must be >= 0` goes to `workers.min`,
 * or to `workers` if the form has only that. A field listed earlier takes precedence.
 */
export function sortErrors(error: unknown, fields: readonly string[]): FormErrors {
  if (!(error instanceof ApiError) || error.errors.length === 0) return sortDetail(messageOf(error), fields);
  const sorted: FormErrors = { fields: {}, other: [] };
  for (const { field: path, text } of error.errors.map(wordFieldError)) {
    // A form may have one field for the members of a list: `cpu.0.id` is `cpu.id`.
    const plain = path.replaceAll(/\.\d+(?=\.|$)/g, '');
    const field = fields.find((name) => [path, plain].some((one) => one === name || one.startsWith(`${name}.`)));
    if (field === undefined) sorted.other.push(text);
    else sorted.fields[field] ??= text;
  }
  return sorted;
}

/** A name that another record has, and an item of a list that cannot be had, are refused without a list of errors. */
function sortDetail(detail: string, fields: readonly string[]): FormErrors {
  const [, list, text] = ITEM.exec(detail) ?? [];
  if (list !== undefined && fields.includes(list)) return { fields: { [list]: text! }, other: [] };
  const isName = fields.includes('name') && TAKEN.test(detail);
  return isName ? { fields: { name: detail }, other: [] } : { fields: {}, other: [detail] };
}
