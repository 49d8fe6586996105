import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress, clientNetwork } from '../core/client-address.ts';
import type { Actor } from '../domain/access/actor.ts';
import { peerOf } from '../http/authenticate.ts';
import type { SignInDeps } from './sign-in-deps.ts';

/** Where a request comes from, for limits and for the audit log. */
export interface Sender {
  address: string;
  /** The address, or the network that one client has all addresses of. */
  network: string;
  requestId: string;
}

export function senderOf({ trustedProxies }: SignInDeps, req: IncomingMessage, res: ServerResponse): Sender {
  const address = clientAddress(peerOf(req), trustedProxies);
  return { address, network: clientNetwork(address), requestId: String(res.getHeader('x-request-id') ?? '') };
}

/** Returns the actor with the address and the request id of the page's request. */
export function withSender(actor: Actor, { address, requestId }: Sender): Actor {
  return { ...actor, origin: { interface: 'console', address, requestId } };
}
