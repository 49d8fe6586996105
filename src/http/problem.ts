import { FAILURES, Failure } from '../core/errors.ts';

export const PROBLEM_JSON = 'application/problem+json';

/** The error record of the contract. */
export interface Problem {
  title: string;
  status: number;
  detail: string;
  errors?: readonly string[];
}

/** What a client may know of anything thrown: a `Failure` speaks for itself, all else is a 500 without its text. */
export function toProblem(error: unknown): Problem {
  if (!(error instanceof Failure)) return { ...FAILURES.internal, detail: 'An unexpected error occurred.' };
  const { status, title } = FAILURES[error.kind];
  return {
    title,
    status,
    detail: error.message,
    ...(error.errors === undefined ? {} : { errors: error.errors }),
  };
}
