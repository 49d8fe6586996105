import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/**
 * Encrypts secrets for the database: AES-256-GCM under a master key, with a random nonce for each value. The record's id is authenticated
 * too, so that a value copied into another record does not open there. Layout: version (1 byte), key id (8), nonce (12), tag (16),
 * ciphertext. Version 1 has no key id and is still read. The key id allows values of two keys during a rotation, and distinguishes a wrong
 * key from a damaged value. 2^32 values under one key are safe (NIST SP 800-38D, 8.3).
 */
const VERSION = 2;
const VERSION_WITHOUT_KEY_ID = 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const MASTER_KEY_BYTES = 32;

/** Starts every error about a missing key; operators and tests search for it. */
const OTHER_KEY = 'a secret cannot be decrypted: the master key is not the one it was encrypted with';
const DAMAGED = 'a secret cannot be decrypted: its stored value is damaged, or was copied from another record';

export interface SecretBox {
  /** The id of the key that seals by default, the first one given; in hex. */
  readonly firstKeyId: string;
  /**
   * Encrypts under the key `keyId`; throws an error for operators if it is missing. Values for the database are sealed by
   * `sealSecret` only, which knows the right key.
   */
  seal(secret: string, recordId: string, keyId?: string): Buffer;
  /** Decrypts. Throws an error for operators if the key is missing, or the value was changed or moved. */
  open(sealed: Uint8Array, recordId: string): string;
  /** True if the key is available. */
  holds(keyId: string): boolean;
}

/**
 * Creates a secret box. `reload` returns all current keys; it is called when a key is missing, because a rotation by
 * another process may have added it.
 */
export function createSecretBox(
  masterKeys: Uint8Array | readonly Uint8Array[],
  reload?: () => readonly Uint8Array[],
): SecretBox {
  const keys = new Map<string, KeyObject>(); // key objects: with plain bytes, opening takes four times as long
  const add = (all: readonly Uint8Array[]) => {
    for (const key of all) keys.set(masterKeyId(key), createSecretKey(key));
  };
  add(masterKeys instanceof Uint8Array ? [masterKeys] : masterKeys);
  const firstKeyId = [...keys.keys()][0];
  if (firstKeyId === undefined) throw new Error('at least one master key is required');
  const find = (keyId: string): KeyObject | undefined => {
    if (!keys.has(keyId) && reload) add(reload());
    return keys.get(keyId);
  };
  return {
    firstKeyId,
    holds: (keyId) => find(keyId) !== undefined,
    seal: (secret, recordId, keyId = firstKeyId) => {
      const key = find(keyId);
      if (!key) throw new Error(`a secret cannot be encrypted: the master key ${keyId} is missing`);
      return seal(key, keyId, secret, recordId);
    },
    open: (sealed, recordId) => {
      const keyId = sealedUnder(sealed);
      if (keyId === null) return openWithAny([...keys.values()], sealed, recordId);
      const key = find(keyId);
      if (!key) throw new Error(`${OTHER_KEY} (${keyId})`);
      try {
        return decrypt(key, sealed, 1 + KEY_ID_BYTES, recordId);
      } catch (cause) {
        throw new Error(DAMAGED, { cause });
      }
    },
  };
}

/** Returns a key's id, 16 hexadecimal digits that reveal nothing about it. Throws if the key has the wrong length. */
export function masterKeyId(key: Uint8Array): string {
  if (key.length !== MASTER_KEY_BYTES) throw new Error(`the master key must be ${MASTER_KEY_BYTES} bytes long`);
  return createHash('sha256')
    .update('podyard master key id\0')
    .update(key)
    .digest('hex')
    .slice(0, 2 * KEY_ID_BYTES);
}

/** Returns the id of the key that a value was sealed under; null for version 1. Throws if it is not a sealed value. */
export function sealedUnder(sealed: Uint8Array): string | null {
  if (sealed[0] === VERSION_WITHOUT_KEY_ID) return null;
  if (sealed[0] !== VERSION || sealed.length <= KEY_ID_BYTES) throw new Error(DAMAGED);
  return Buffer.from(sealed.subarray(1, 1 + KEY_ID_BYTES)).toString('hex');
}

function seal(key: KeyObject, keyId: string, secret: string, recordId: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(recordId));
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(keyId, 'hex'), nonce, cipher.getAuthTag(), text]);
}

function openWithAny(keys: readonly KeyObject[], sealed: Uint8Array, recordId: string): string {
  for (const key of keys) {
    try {
      return decrypt(key, sealed, 1, recordId);
    } catch {
      // try the next key
    }
  }
  throw new Error(`${OTHER_KEY}, or its stored value is damaged`);
}

/** `at`: the position of the nonce. */
function decrypt(key: KeyObject, sealed: Uint8Array, at: number, recordId: string): string {
  const tagAt = at + NONCE_BYTES;
  const textAt = tagAt + TAG_BYTES;
  if (sealed.length < textAt) throw new Error('the sealed value is truncated');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(at, tagAt), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(recordId)).setAuthTag(sealed.subarray(tagAt, textAt));
  return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString('utf8');
}
