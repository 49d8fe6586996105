import type { Peer } from '../core/client-address.ts';
import { Failure } from '../core/errors.ts';
import type { Actor } from '../domain/access/actor.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import type { UseEnd } from '../domain/access/key-watch.ts';
import { readBearer } from './bearer.ts';
import type { CallRequest } from './call-messages.ts';
import { hashTextOnConnection } from './floods/connection-hash.ts';
import { readSessionSecret, sessionEnded } from './session-cookie.ts';

/**
 * Throws `unauthorized` for a key that is unknown, revoked or expired, `tooManyRequests` for the many unknown keys of one
 * address. Synchronous when the key is in memory.
 */
export function authenticate(keyRing: KeyRing, secret: string, req: CallRequest): Actor | Promise<Actor> {
  return (
    keyRing.peek(secret, hashTextOnConnection(req.socket, secret)) ??
    keyRing.authenticate(secret, peerOf(req)).then((actor) => {
      if (!actor) throw new Failure('unauthorized', 'invalid bearer token');
      return actor;
    })
  );
}

/**
 * The same for a request with a bearer token, or without one for the session of the console that it came with. Throws `forbidden` if
 * another site had the browser send it.
 */
export function authenticateCaller(keyRing: KeyRing, req: CallRequest): Actor | Promise<Actor> {
  const { authorization } = req.headers;
  const session = authorization ? null : readSessionSecret(req);
  return session === null
    ? authenticate(keyRing, readBearer(authorization), req)
    : authenticateSession(keyRing, session, req);
}

/**
 * As `authenticate`, for what `readSessionSecret` returned. A session that a proxy vouched for has ended for a request without the proxy's
 * header.
 */
export function authenticateSession(keyRing: KeyRing, secret: string, req: CallRequest): Actor | Promise<Actor> {
  const known = keyRing.sessions.peek(secret, hashTextOnConnection(req.socket, secret));
  if (known !== undefined && known.voucher === undefined) return known;
  return keyRing.sessions.authenticate(secret, peerOf(req)).then(async (actor) => {
    if (!actor || !(await keyRing.isVouched(actor, req))) throw sessionEnded();
    return actor;
  });
}

export function peerOf({ socket, headers }: CallRequest): Peer {
  const forwarded = headers['x-forwarded-for'];
  return {
    remoteAddress: socket.remoteAddress,
    forwardedFor: Array.isArray(forwarded) ? forwarded.join(',') : forwarded,
  };
}

/** For what is still open when its key is revoked or expires, or the membership that it acts with ends. */
export function keyEnded(end: UseEnd): Failure {
  if (end === 'MEMBERSHIP') {
    return new Failure(
      'forbidden',
      'you no longer act for this account as you did: your membership or role has changed',
    );
  }
  return new Failure('unauthorized', 'the API key was revoked or has expired');
}
