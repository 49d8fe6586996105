import { hashSecret, hashText } from '../../domain/access/secret-hash.ts';

interface Hashed {
  secret: string;
  hash: Buffer;
  text: string;
}

/** The latest secret of each connection, with its hash. It is forgotten with the connection. */
const lastSent = new WeakMap<object, Hashed>();

/** Hashes a secret, once per connection: clients and workers send the same one with every request. */
export function hashOnConnection(connection: object, secret: string): Buffer {
  return hashed(connection, secret).hash;
}

/** The same as `hashText`. */
export function hashTextOnConnection(connection: object, secret: string): string {
  return hashed(connection, secret).text;
}

function hashed(connection: object, secret: string): Hashed {
  const known = lastSent.get(connection);
  if (known?.secret === secret) return known;
  const hash = hashSecret(secret);
  const made = { secret, hash, text: hashText(hash) };
  lastSent.set(connection, made);
  return made;
}
