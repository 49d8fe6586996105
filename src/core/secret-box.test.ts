import { createCipheriv, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSecretBox, masterKeyId, sealedUnder } from './secret-box.ts';

const box = createSecretBox(randomBytes(32));
const DAMAGED = 'its stored value is damaged, or was copied from another record';
const WRONG_KEY = 'the master key is not the one it was encrypted with';

test.each(['', 'hunter2', 'p\0ß🦄', 'x'.repeat(100_000)])(
  'what was sealed opens again, whatever it holds',
  (secret) => {
    const sealed = box.seal(secret, 'record');
    expect(box.open(sealed, 'record')).toBe(secret);
  },
);

test('a sealed value does not contain the secret, and no two sealed values are equal', () => {
  const seals = Array.from({ length: 100 }, () => box.seal('hunter2hunter2', 'record').toString('latin1'));
  expect(new Set(seals).size).toBe(100);
  for (const seal of seals) expect(seal).not.toContain('hunter2');
});

test('another key does not open it, and the error says so', () => {
  const other = createSecretBox(randomBytes(32));
  expect(() => other.open(box.seal('hunter2', 'record'), 'record')).toThrow(WRONG_KEY);
});

test('a value moved to another record does not open there, and the error does not blame the key', () => {
  expect(() => box.open(box.seal('hunter2', 'mine'), 'yours')).toThrow(DAMAGED);
});

test('no byte can be changed or cut off', () => {
  const sealed = box.seal('hunter2', 'record');
  for (let i = 0; i < sealed.length; i++) {
    const changed = Buffer.from(sealed);
    changed[i]! ^= 1;
    expect(() => box.open(changed, 'record')).toThrow('a secret cannot be decrypted');
    expect(() => box.open(sealed.subarray(0, i), 'record')).toThrow(DAMAGED);
  }
});

test('a value of version 1, which names no key, still opens with the right one of several', () => {
  const key = randomBytes(32);
  const sealed = sealFirstForm(key, 'hunter2', 'record');
  expect(createSecretBox([randomBytes(32), key]).open(sealed, 'record')).toBe('hunter2');
  expect(() => box.open(sealed, 'record')).toThrow(WRONG_KEY);
});

test('the first of several keys seals unless another is named, and each opens its own', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const both = createSecretBox([first, second]);
  expect(sealedUnder(both.seal('a', 'x'))).toBe(masterKeyId(first));
  const sealed = both.seal('b', 'x', masterKeyId(second));
  expect(sealedUnder(sealed)).toBe(masterKeyId(second));
  expect(both.open(sealed, 'x')).toBe('b');
  expect(() => both.seal('c', 'x', 'ffffffffffffffff')).toThrow('the master key ffffffffffffffff is missing');
});

test('a key that was added later is reloaded when it is needed', () => {
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  let looks = 0;
  let keys = [old];
  const rotating = createSecretBox(keys, () => {
    looks += 1;
    return keys;
  });
  const sealed = createSecretBox(fresh).seal('hunter2', 'x');
  expect(() => rotating.open(sealed, 'x')).toThrow(WRONG_KEY);
  keys = [fresh];
  expect(rotating.open(sealed, 'x')).toBe('hunter2');
  expect(rotating.open(rotating.seal('b', 'x', masterKeyId(fresh)), 'x')).toBe('b');
  expect(rotating.open(rotating.seal('c', 'x'), 'x')).toBe('c');
  expect(looks).toBe(2);
});

test('a key of the wrong length is refused', () => {
  expect(() => createSecretBox(randomBytes(16))).toThrow('32 bytes');
});

function sealFirstForm(key: Buffer, secret: string, recordId: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(recordId));
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(1), nonce, cipher.getAuthTag(), text]);
}
