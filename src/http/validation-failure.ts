import { Failure } from '../core/errors.ts';

/** Errors that are listed; there may be thousands. */
export const MAX_ERRORS = 100;

/** The refusal of a request that breaks its description; `errors`: each a place and what is wrong there. */
export function validationFailure(errors: readonly string[]): Failure {
  return new Failure('unprocessable', 'Request validation failed.', { errors: errors.slice(0, MAX_ERRORS) });
}
