import { Failure } from '../../core/errors.ts';
import { MAX_SECRET_NAME_LENGTH, RESERVED_PREFIX, SECRET_NAME } from './secret.ts';

/** Throws `badRequest` if the fields are not valid for a secret; no message shows the value. */
export function checkSecret(given: { name?: string; value?: string; description?: string | null }): void {
  const problem = nameProblem(given.name) ?? valueProblem(given.value) ?? descriptionProblem(given.description);
  if (problem !== undefined) throw new Failure('badRequest', problem);
}

function nameProblem(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const isName = SECRET_NAME.test(name) && name.length <= MAX_SECRET_NAME_LENGTH && !name.startsWith(RESERVED_PREFIX);
  if (isName) return undefined;
  return (
    `name: must start with a letter or '_', continue with letters, digits and '_', '.', '-', '/', have at most ` +
    `${MAX_SECRET_NAME_LENGTH} characters, and not start with ${RESERVED_PREFIX}`
  );
}

/** A value becomes part of a container's environment, which cannot hold NUL. */
function valueProblem(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value === '') return 'value: must not be empty';
  return isStorable(value) ? undefined : 'value: must be well-formed text without the character NUL';
}

function descriptionProblem(description: string | null | undefined): string | undefined {
  if (description === undefined || description === null || isStorable(description)) return undefined;
  return 'description: must be well-formed text without the character NUL';
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
