import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findImageFault, IMAGE_PATTERN, parseImageReference } from './image-reference.ts';

const DIGEST = `sha256:${'0af'.repeat(21)}b`;

describe('a valid reference is taken apart', () => {
  test.each([
    ['busybox', 'docker.io', 'busybox', null, null],
    ['podyard/echo-js:dev', 'docker.io', 'podyard/echo-js', 'dev', null],
    ['ghcr.io/me/app:1', 'ghcr.io', 'me/app', '1', null],
    ['localhost/app', 'localhost', 'app', null, null],
    ['localhost:5000/a/b/c:v1.2_3-4', 'localhost:5000', 'a/b/c', 'v1.2_3-4', null],
    ['127.0.0.1:5000/app', '127.0.0.1:5000', 'app', null, null],
    ['[::1]:5000/app:1', '[::1]:5000', 'app', '1', null],
    ['[d74a]/app', '[d74a]', 'app', null, null],
    ['[2001:db8::1]/app', '[2001:db8::1]', 'app', null, null],
    ['Registry.Example.com/team/app', 'Registry.Example.com', 'team/app', null, null],
    ['a__b/c-d--e.f_g', 'docker.io', 'a__b/c-d--e.f_g', null, null],
    ['a_b.c/app', 'docker.io', 'a_b.c/app', null, null],
    [`ghcr.io/me/app@${DIGEST}`, 'ghcr.io', 'me/app', null, DIGEST],
    [`ghcr.io/me/app:1@${DIGEST}`, 'ghcr.io', 'me/app', '1', DIGEST],
    [DIGEST, 'docker.io', 'sha256', DIGEST.slice('sha256:'.length), null],
  ])('%s', (text, registry, repository, tag, digest) => {
    expect(parseImageReference(text)).toEqual({ registry, repository, tag, digest });
    expect(findImageFault(text)).toBeNull();
  });
});

describe('an invalid reference is refused with its fault', () => {
  test.each([
    ['', 'it is empty'],
    ['ghcr.io//me/app:1', 'empty path component'],
    ['/app', 'empty path component'],
    ['app/', 'empty path component'],
    ['../../containers/json', "the registry '..' is not a host name"],
    ['../127.0.0.1:8080/x', "the registry '..' is not a host name"],
    ['a/../b', "'..' is not a valid path component"],
    ['a/./b', "'.' is not a valid path component"],
    ['me/App', "'App' has upper-case letters"],
    ['app:', 'the tag is malformed'],
    ['app:a b', 'the tag is malformed'],
    [`app:${'x'.repeat(129)}`, 'the tag is malformed'],
    ['app@sha256:', 'the digest is malformed'],
    ['app@sha256:../x', 'the digest is malformed'],
    [`app@${DIGEST}@${DIGEST}`, "more than one '@'"],
    ['ghcr.io:port/app', "the port of the registry 'ghcr.io:port' is malformed"],
    ['-a.io/app', "the registry '-a.io' is not a host name"],
    ['app name', "'app name' is not a valid path component"],
    ['app?x=1', "'app?x=1' is not a valid path component"],
    ['app%2f', "'app%2f' is not a valid path component"],
    ['app\0', "'app\0' is not a valid path component"],
    ['http://ghcr.io/app', "the port of the registry 'http:' is malformed"],
    ['a'.repeat(256), 'the name is longer than 255 characters'],
    ['a'.repeat(513), 'it is longer than 512 characters'],
  ])('%j', (text, fault) => {
    expect(parseImageReference(text)).toEqual({ fault });
  });
});

test('the sentence quotes at most the first hundred characters', () => {
  expect(findImageFault('ghcr.io//me/app:1')).toBe(
    "'ghcr.io//me/app:1' is not a valid image reference: empty path component",
  );
  expect(findImageFault('/'.repeat(10_000))!.length).toBeLessThan(200);
});

test('the published pattern takes just what the parser takes', () => {
  const pattern = new RegExp(IMAGE_PATTERN);
  const pieces = [
    'a',
    'B',
    '0',
    '.',
    '-',
    '_',
    '__',
    ':',
    '/',
    '@',
    '[',
    ']',
    'localhost',
    ':5000/',
    'sha256:',
    '..',
    ' ',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      expect(pattern.test(text)).toBe(findImageFault(text) === null);
    }),
    { numRuns: 20_000 },
  );
});

test('no valid reference holds anything that changes the meaning of a URL', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'aA0.-_:/@[]%?#& \0\\') }), (text) => {
      if (findImageFault(text) !== null) return;
      const { pathname, search, hash } = new URL(`http://engine/images/${text}/json`);
      expect(pathname + search + hash).toBe(`/images/${text}/json`);
    }),
    { numRuns: 2_000 },
  );
});

test('a hostile reference costs linear time', () => {
  const startedAt = performance.now();
  for (const text of [
    'a-'.repeat(500_000),
    `a:${'a'.repeat(1_000_000)}!`,
    `a@${'a.'.repeat(500_000)}`,
    '['.repeat(1_000_000),
  ]) {
    findImageFault(text);
    new RegExp(IMAGE_PATTERN).test(text);
  }
  expect(performance.now() - startedAt).toBeLessThan(500);
});
