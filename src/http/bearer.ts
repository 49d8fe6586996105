import { Failure } from '../core/errors.ts';

const BEARER = /^bearer +([^\s]+)$/i;

/** The token of `Authorization: Bearer <token>`, the only form that REST takes. Throws `unauthorized` for any other. */
export function readBearer(authorization: string | undefined): string {
  if (!authorization) throw new Failure('unauthorized', 'missing bearer token');
  const token = BEARER.exec(authorization.trim())?.[1];
  if (token === undefined) throw new Failure('unauthorized', 'invalid bearer token');
  return token;
}

/** For the data plane, whose older clients send the key without a scheme: the token, or all there is. */
export function readKey(authorization: string | undefined): string {
  if (!authorization) throw new Failure('unauthorized', 'missing bearer token');
  const text = authorization.trim();
  return BEARER.exec(text)?.[1] ?? text;
}
