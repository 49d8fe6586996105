import { Failure } from '../core/errors.ts';
import { badTexts } from '../http/bad-texts.ts';
import { checkNesting } from './document-limits.ts';

const BODY_MEMBERS = ['query', 'variables', 'operationName'];
/** A client sends it misspelled, always empty, and checks its key in this way. */
const IGNORED_MEMBER = 'variable';

/** The body of a GraphQL request. */
export interface Body {
  query: string;
  variables: Record<string, unknown> | null;
  operationName: string | null;
}

/** Throws `badRequest` that names the member, never its value. */
export function readBody(body: unknown): Body {
  if (Array.isArray(body))
    throw new Failure('badRequest', 'Batches are not supported: send one operation per request.');
  if (typeof body !== 'object' || body === null) throw new Failure('badRequest', 'The request body must be an object.');
  const unknown = Object.keys(body).find((name) => !BODY_MEMBERS.includes(name) && name !== IGNORED_MEMBER);
  if (unknown !== undefined) {
    throw new Failure('badRequest', `The request body has an unknown member; allowed are ${BODY_MEMBERS.join(', ')}.`);
  }
  const { query, variables = null, operationName = null } = body as Record<string, unknown>;
  if (typeof query !== 'string') throw new Failure('badRequest', 'query: must be a string');
  if (typeof variables !== 'object' || Array.isArray(variables)) {
    throw new Failure('badRequest', 'variables: must be an object');
  }
  checkNesting(variables, 'variables');
  if (operationName !== null && typeof operationName !== 'string') {
    throw new Failure('badRequest', 'operationName: must be a string');
  }
  return { query, variables: variables as Body['variables'], operationName };
}

/** Throws `badRequest` for text that PostgreSQL cannot store: in valid JSON, only an escape can produce it. */
export function checkTexts(value: unknown, text: string): void {
  const [problem] = text.includes('\\u') ? badTexts(value, '') : [];
  if (problem !== undefined) throw new Failure('badRequest', problem);
}
