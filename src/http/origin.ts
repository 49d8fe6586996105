import type { Actor, Origin } from '../domain/access/actor.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import { peerOf } from './authenticate.ts';
import type { CallRequest } from './call-messages.ts';

/** Set by the console, which is a browser as any other page could be. */
const CLIENT_HEADER = 'podyard-client';

/** Returns the actor with where the request came from, for the audit log. `api`: what the client spoke, unless it is one of our own. */
export function withOrigin(
  actor: Actor,
  keyRing: Pick<KeyRing, 'addressOf'>,
  request: CallRequest,
  { api, requestId }: { api: 'rest' | 'v1' | 'graphql'; requestId: string },
): Actor {
  const origin: Origin = {
    interface: clientOf(request) ?? api,
    address: keyRing.addressOf(peerOf(request)),
    requestId,
  };
  return { ...actor, origin };
}

function clientOf({ headers }: CallRequest): string | null {
  if (headers[CLIENT_HEADER] === 'console') return 'console';
  return headers['user-agent']?.startsWith('podyard-cli') ? 'cli' : null;
}
