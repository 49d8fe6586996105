import { expect, test } from 'vitest';
import { hashPassword, verifyPassword } from './password-hash.ts';

const CHEAP = { memory: 8, passes: 1 };

test('a hash has the parameters that OWASP recommends, and a salt of its own', async () => {
  const [one, two] = [await hashPassword('pelican gravel ounce tilt'), await hashPassword('pelican gravel ounce tilt')];
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  expect(one).not.toBe(two);
  expect(await verifyPassword('pelican gravel ounce tilt', one)).toBe(true);
  expect(await verifyPassword('pelican gravel ounce tile', one)).toBe(false);
});

test('the hash of an earlier cost goes on, and one of another form is an error', async () => {
  const stored = await hashPassword('café', CHEAP);
  expect(await verifyPassword('cafe\u0301', stored)).toBe(true); // composed by another keyboard
  expect(await verifyPassword('cafe', stored)).toBe(false);
  for (const odd of ['', 'secret', '$argon2i$v=19$m=8,t=1,p=1$AA$AA', stored.replace('v=19', 'v=16')]) {
    await expect(verifyPassword('café', odd)).rejects.toThrow('has a form that this version does not know');
  }
});

test('where nobody has the account, the check takes as long and is false', async () => {
  const stored = await hashPassword('right');
  const took = async (of: string | null) => {
    const begin = performance.now();
    expect(await verifyPassword('wrong', of)).toBe(false);
    return performance.now() - begin;
  };
  const known = [await took(stored), await took(stored), await took(stored)];
  const unknown = [await took(null), await took(null), await took(null)];
  expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...known) / 4); // without the work, a thousandth
});
