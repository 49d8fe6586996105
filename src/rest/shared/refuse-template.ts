import { Failure } from '../../core/errors.ts';
import { TemplateRefused } from '../../domain/templates/template-refused.ts';
import { validationFailure } from '../../http/validation-failure.ts';

/**
 * Throws what revision 2026-08 answers for a template that cannot be used: `notFound` for an unknown one, `unprocessable`
 * for one with another purpose. Throws any other error unchanged.
 */
export function refuseTemplate(error: unknown): never {
  if (!(error instanceof TemplateRefused)) throw error;
  if (error.reason === 'unknown') throw new Failure('notFound', error.message);
  throw validationFailure([`/${error.message}`]);
}
