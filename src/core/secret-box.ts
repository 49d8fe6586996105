import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/**
 * Keeps secrets unreadable in the database: AES-256-GCM under one master key, with a random nonce for each seal. The
 * owner's record id is authenticated with it, so that a sealed value copied into another record does not open there.
 * Layout: version (1 byte), nonce (12), tag (16), ciphertext. 2^32 seals under one key are safe (NIST SP 800-38D, 8.3).
 */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

export const MASTER_KEY_BYTES = 32;

export interface SecretBox {
  seal(secret: string, recordId: string): Buffer;
  /** Throws a sentence for operators when the key is another one, or the value was changed or moved. */
  open(sealed: Uint8Array, recordId: string): string;
}

export function createSecretBox(masterKey: Uint8Array): SecretBox {
  if (masterKey.length !== MASTER_KEY_BYTES) throw new Error(`the master key must have ${MASTER_KEY_BYTES} bytes`);
  return {
    seal: (secret, recordId) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce).setAAD(Buffer.from(recordId));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), text]);
    },
    open: (sealed, recordId) => {
      try {
        return decrypt(masterKey, sealed, recordId);
      } catch (cause) {
        throw new Error('a secret cannot be decrypted: the master key is not the one it was encrypted with', { cause });
      }
    },
  };
}

function decrypt(masterKey: Uint8Array, sealed: Uint8Array, recordId: string): string {
  if (sealed[0] !== VERSION || sealed.length < HEADER_BYTES) throw new Error('unknown form of a sealed secret');
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', masterKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(recordId)).setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEADER_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES)), decipher.final()]).toString('utf8');
}
