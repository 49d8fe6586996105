import { Failure } from '../core/errors.ts';

const BEARER = /^bearer +([^\s]+)$/i;

/** Returns the token of `Authorization: Bearer <token>`, the only form REST accepts. Throws `unauthorized` for others. */
export function readBearer(authorization: string | undefined): string {
  if (!authorization) throw new Failure('unauthorized', 'missing bearer token');
  const token = BEARER.exec(authorization.trim())?.[1];
  if (token === undefined) throw new Failure('unauthorized', 'invalid bearer token');
  return token;
}

/** Returns the bearer token, or the whole header: older clients of the data plane send the key without a scheme. */
export function readKey(authorization: string | undefined): string {
  if (!authorization) throw new Failure('unauthorized', 'missing bearer token');
  const text = authorization.trim();
  return BEARER.exec(text)?.[1] ?? text;
}
