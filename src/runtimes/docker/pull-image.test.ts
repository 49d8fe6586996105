import { expect, test } from 'vitest';
import { familiarName, pullFailure, registryOf, withTag } from './pull-image.ts';

test('a name without a tag means latest: the engine would pull every tag', () => {
  expect(withTag('nginx')).toBe('nginx:latest');
  expect(withTag('localhost:5000/nginx')).toBe('localhost:5000/nginx:latest');
  expect(withTag('ghcr.io/a/b:v1')).toBe('ghcr.io/a/b:v1');
  expect(withTag('a@sha256:00')).toBe('a@sha256:00');
});

test('the different names of a Docker Hub image become one', () => {
  const names = ['nginx', 'nginx:latest', 'library/nginx', 'docker.io/nginx', 'index.docker.io/library/nginx:latest'];
  expect(new Set(names.map(familiarName))).toEqual(new Set(['nginx:latest']));
  expect(familiarName('ghcr.io/library/nginx')).toBe('ghcr.io/library/nginx:latest');
});

test('the registry is parsed from the name like the engine does', () => {
  expect(['nginx', 'library/nginx', 'ghcr.io/a/b', 'localhost/a', 'host:5000/a'].map(registryOf)).toEqual([
    'docker.io',
    'docker.io',
    'ghcr.io',
    'localhost',
    'host:5000',
  ]);
});

test.each([
  [
    'manifest for a/b:v1 not found: manifest unknown: manifest unknown',
    false,
    /does not exist in the registry docker\.io/,
  ],
  [
    "pull access denied for a/b, repository does not exist or may require 'docker login'",
    false,
    /not found, or it is private/,
  ],
  ['Get "https://ghcr.io/v2/a/b/manifests/v1": unauthorized: authentication required', true, /refused the credentials/],
  ['Get "https://x/v2/": dial tcp: lookup x on 1.1.1.1:53: no such host', false, /could not be reached/],
  ['toomanyrequests: You have reached your pull rate limit', false, /rate limit/],
  ['invalid reference format: repository name must be lowercase', false, /not a valid image name/],
  ['no matching manifest for linux/amd64 in the manifest list entries', false, /this machine's processor/],
  ['write /var/lib/x: no space left on device', false, /does not fit/],
  ['something new', true, /could not be pulled: something new/],
])('%s becomes a sentence', (words, hasAuth, sentence) => {
  const failure = pullFailure('a/b:v1', new Error(words), hasAuth);
  expect(failure.message).toMatch(sentence);
  expect(failure.message).toContain('a/b:v1');
});
