import { hash } from 'node:crypto';

/**
 * SHA-256 of a key, which is all that is kept of it. A fast hash is enough because keys are random with 192 bits: there
 * is nothing to guess, and a key is checked on every request.
 */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Returns a hash as text, one character per byte: the key of a Map. */
export function hashText(hash: Buffer): string {
  return hash.toString('latin1');
}
