import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import { newId, type SessionId, type UserId } from '../core/ids.ts';
import { personActor } from '../domain/access/actor.ts';
import { change } from '../domain/change.ts';
import type { NewSession, ProviderAccount } from '../domain/sessions/session-store.ts';
import { createSession, type SessionSecrets } from '../domain/sessions/sessions.ts';
import { sessionCookie } from '../http/session-cookie.ts';
import { senderOf, withSender } from './sender.ts';
import type { SignInDeps } from './sign-in-deps.ts';

const MAX_USER_AGENT = 300;

/** How a user proved their identity. */
type Proof = Pick<NewSession, 'madeBy' | 'keyId'> & { account?: ProviderAccount<string> };

/** Signs a user in on the browser that sent the request: returns the session's secrets, and its cookie. */
export async function beginSession(
  deps: SignInDeps,
  req: IncomingMessage,
  res: ServerResponse,
  { userId, ...proof }: { userId: UserId } & Proof,
): Promise<{ secrets: SessionSecrets; cookie: string }> {
  const { lifetime } = deps;
  const sender = senderOf(deps, req, res);
  const userAgent = req.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null;
  const isHostBound = isSecure(deps, req);
  const sessionId = newId<SessionId>();
  const wanted = { ...proof, sessionId, userAgent, address: sender.address, lifetime, isHostBound };
  const secrets = await change(deps, withSender(personActor(userId, sessionId), sender), createSession, wanted);
  deps.logger.info({ userId, sessionId, by: proof.madeBy, clientAddress: sender.address }, 'signed in');
  return { secrets, cookie: sessionCookie(secrets, isHostBound, lifetime.maxMs) };
}

/** True if the browser reached this server over https, itself or through a proxy. */
export function isSecure({ trustedProxies, publicUrlFor }: SignInDeps, req: IncomingMessage): boolean {
  if (req.socket instanceof TLSSocket) return true;
  const { origin, host, 'x-forwarded-proto': forwarded } = req.headers;
  if (origin?.startsWith('https:')) return true; // the browser's word, about its own page
  const address = (req.socket.remoteAddress ?? '').replace(/^::ffff:/i, '');
  if (forwarded !== undefined && trustedProxies.has(address)) {
    return String(forwarded).split(',')[0]!.trim() === 'https';
  }
  const url = new URL(publicUrlFor(req));
  return url.protocol === 'https:' && url.host === host;
}
