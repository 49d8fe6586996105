import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/**
 * Keeps secrets unreadable in the database: AES-256-GCM under a master key, with a random nonce for each seal. The
 * owner's record id is authenticated with it, so that a sealed value copied into another record does not open there.
 * Layout: version (1 byte), id of the key (8), nonce (12), tag (16), ciphertext; version 1 had no key id, and is still
 * read. The key's id lets values of two keys stand side by side while a rotation goes through them, and tells a wrong
 * key from a damaged value. 2^32 seals under one key are safe (NIST SP 800-38D, 8.3).
 */
const VERSION = 2;
const VERSION_WITHOUT_KEY_ID = 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const MASTER_KEY_BYTES = 32;

/** Begins every sentence about a key that is not there; operators and tests look for it. */
const OTHER_KEY = 'a secret cannot be decrypted: the master key is not the one it was encrypted with';
const DAMAGED = 'a secret cannot be decrypted: its stored value is damaged, or was copied from another record';

export interface SecretBox {
  /** The key that seals when nothing else is said, in hex: the first of those given. */
  readonly firstKeyId: string;
  /**
   * With `keyId`, under that key; throws a sentence for operators when it is not there. What is stored in the database
   * is sealed by `sealSecret` alone, which knows which key it must be.
   */
  seal(secret: string, recordId: string, keyId?: string): Buffer;
  /** Throws a sentence for operators when the key is another one, or the value was changed or moved. */
  open(sealed: Uint8Array, recordId: string): string;
  /** Whether that key is at hand. */
  holds(keyId: string): boolean;
}

/**
 * `reload` is asked, once a call, when a key is needed that was not given: a rotation by another process has put it
 * where the keys come from. It answers all keys there are now.
 */
export function createSecretBox(
  masterKeys: Uint8Array | readonly Uint8Array[],
  reload?: () => readonly Uint8Array[],
): SecretBox {
  const keys = new Map<string, KeyObject>(); // key objects: with plain bytes each open takes four times as long
  const add = (all: readonly Uint8Array[]) => {
    for (const key of all) keys.set(masterKeyId(key), createSecretKey(key));
  };
  add(masterKeys instanceof Uint8Array ? [masterKeys] : masterKeys);
  const firstKeyId = [...keys.keys()][0];
  if (firstKeyId === undefined) throw new Error('there must be a master key');
  const find = (keyId: string): KeyObject | undefined => {
    if (!keys.has(keyId) && reload) add(reload());
    return keys.get(keyId);
  };
  return {
    firstKeyId,
    holds: (keyId) => find(keyId) !== undefined,
    seal: (secret, recordId, keyId = firstKeyId) => {
      const key = find(keyId);
      if (!key) throw new Error(`a secret cannot be encrypted: the master key ${keyId} is not here`);
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

/** Names a key without telling anything about it; 16 hexadecimal digits. Throws when the key has another length. */
export function masterKeyId(key: Uint8Array): string {
  if (key.length !== MASTER_KEY_BYTES) throw new Error(`the master key must have ${MASTER_KEY_BYTES} bytes`);
  return createHash('sha256')
    .update('podyard master key id\0')
    .update(key)
    .digest('hex')
    .slice(0, 2 * KEY_ID_BYTES);
}

/** The id of the key that a value was sealed under; null for values of version 1. Throws when it is no sealed value. */
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
      // the next one may fit
    }
  }
  throw new Error(`${OTHER_KEY}, or its stored value is damaged`);
}

/** The nonce begins at `at`. */
function decrypt(key: KeyObject, sealed: Uint8Array, at: number, recordId: string): string {
  const tagAt = at + NONCE_BYTES;
  const textAt = tagAt + TAG_BYTES;
  if (sealed.length < textAt) throw new Error('a sealed secret is cut off');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(at, tagAt), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(recordId)).setAuthTag(sealed.subarray(tagAt, textAt));
  return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString('utf8');
}
