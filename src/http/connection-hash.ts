import type { Socket } from 'node:net';
import { hashSecret } from '../domain/access/secret-hash.ts';

/**
 * Clients and workers send the same secret with every request of a connection: its hash is computed once. The secret is
 * held no longer than the connection that brought it.
 */
const lastSent = new WeakMap<Socket, { secret: string; hash: Buffer }>();

export function hashOnConnection(socket: Socket, secret: string): Buffer {
  const known = lastSent.get(socket);
  if (known?.secret === secret) return known.hash;
  const hash = hashSecret(secret);
  lastSent.set(socket, { secret, hash });
  return hash;
}
