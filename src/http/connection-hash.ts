import { hashSecret } from '../domain/access/secret-hash.ts';

/**
 * Clients and workers send the same secret with every request of a connection: its hash is computed once. The secret is
 * held no longer than the connection that brought it.
 */
const lastSent = new WeakMap<object, { secret: string; hash: Buffer }>();

export function hashOnConnection(connection: object, secret: string): Buffer {
  const known = lastSent.get(connection);
  if (known?.secret === secret) return known.hash;
  const hash = hashSecret(secret);
  lastSent.set(connection, { secret, hash });
  return hash;
}
