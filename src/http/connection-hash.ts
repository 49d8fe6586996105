import { hashSecret } from '../domain/access/secret-hash.ts';

/** The latest secret of each connection, with its hash. It is forgotten with the connection. */
const lastSent = new WeakMap<object, { secret: string; hash: Buffer }>();

/** Hashes a secret, once per connection: clients and workers send the same one with every request. */
export function hashOnConnection(connection: object, secret: string): Buffer {
  const known = lastSent.get(connection);
  if (known?.secret === secret) return known.hash;
  const hash = hashSecret(secret);
  lastSent.set(connection, { secret, hash });
  return hash;
}
