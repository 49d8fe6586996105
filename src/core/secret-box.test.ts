import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSecretBox } from './secret-box.ts';

const box = createSecretBox(randomBytes(32));
const WRONG_KEY = 'the master key is not the one it was encrypted with';

test.each(['', 'hunter2', 'p\0ß🦄', 'x'.repeat(100_000)])(
  'what was sealed opens again, whatever it holds',
  (secret) => {
    const sealed = box.seal(secret, 'record');
    expect(box.open(sealed, 'record')).toBe(secret);
  },
);

test('a sealed secret does not show it, and the same one never looks the same twice', () => {
  const seals = Array.from({ length: 100 }, () => box.seal('hunter2hunter2', 'record').toString('latin1'));
  expect(new Set(seals).size).toBe(100);
  for (const seal of seals) expect(seal).not.toContain('hunter2');
});

test('another key does not open it, and says so', () => {
  const other = createSecretBox(randomBytes(32));
  expect(() => other.open(box.seal('hunter2', 'record'), 'record')).toThrow(WRONG_KEY);
});

test('a value that was moved to another record does not open there', () => {
  expect(() => box.open(box.seal('hunter2', 'mine'), 'yours')).toThrow(WRONG_KEY);
});

test('no byte of it can be changed, and nothing cut off', () => {
  const sealed = box.seal('hunter2', 'record');
  for (let i = 0; i < sealed.length; i++) {
    const changed = Buffer.from(sealed);
    changed[i]! ^= 1;
    expect(() => box.open(changed, 'record')).toThrow(WRONG_KEY);
    expect(() => box.open(sealed.subarray(0, i), 'record')).toThrow(WRONG_KEY);
  }
});

test('a key of another length is refused', () => {
  expect(() => createSecretBox(randomBytes(16))).toThrow('32 bytes');
});
