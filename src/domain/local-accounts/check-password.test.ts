import { expect, test } from 'vitest';
import { checkPassword } from './check-password.ts';

const ANNA = { name: 'Anna Lindqvist', email: 'a.lindqvist@fjordworks.example' };

test.each([
  ['short', 'aB3$xyz9!k'],
  ['eleven characters', 'vTq7wLp2zXe'],
  ['a common word twice', 'passwordpassword'],
  ['a common word with a year', 'Password2026'],
  ['a common word that is spelled with digits', 'P@ssw0rd1234'],
  ['a season with a year and signs', 'Summer-2026!!!'],
  ['a row of the keyboard', 'qwertyuiop12'],
  ['a row in the other direction', '098765432poiuytrewq'],
  ['columns of the keyboard', '1qaz2wsx3edc'],
  ['digits', '123456789012345'],
  ['one character', 'zzzzzzzzzzzzzzzzzzzz'],
  ['few characters', 'xyxyxyxyxyxyxyxy'],
  ['the name of the product', 'podyard-podyard-1'],
  ['their own name', 'lindqvist-Anna-99'],
  ['their own email', 'a.lindqvist@fjordworks.example'],
  ['the famous example', 'correct horse battery staple'],
  ['signs only', '-_-_-.-_-.._-'],
  ['too long', 'x7'.repeat(200)],
])('%s is refused', (_what, password) => {
  expect(() => checkPassword(password, ANNA)).toThrow(/^password: /);
});

test.each([
  'vTq7wLp2zXek',
  'pelican gravel ounce tilt',
  'Møllebakken-grus-38',
  '水とお茶と本と犬と海と山の話',
  'my tortoise eats vinyl',
])('%s is accepted', (password) => {
  expect(() => checkPassword(password, ANNA)).not.toThrow();
});

test('the longest password is checked in a moment', () => {
  const begin = performance.now();
  for (let i = 0; i < 20; i++) {
    try {
      checkPassword('a1'.repeat(128), { name: 'a1'.repeat(50), email: null });
    } catch {
      // Easy to guess.
    }
  }
  expect((performance.now() - begin) / 20).toBeLessThan(100);
});
