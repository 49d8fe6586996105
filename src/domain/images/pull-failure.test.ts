import { expect, test } from 'vitest';
import { pullFailure, registryOf } from './pull-failure.ts';

const AUTH = { username: 'u', password: 'hunter2' };

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
  ['Get "https://x/v2/": dial tcp: lookup x on 1.1.1.1:53: no such host', false, /gave no usable answer/],
  ['toomanyrequests: You have reached your pull rate limit', false, /rate limit/],
  ['invalid reference format: repository name must be lowercase', false, /not a valid image name/],
  ['no matching manifest for linux/amd64 in the manifest list entries', false, /this machine's processor/],
  ['write /var/lib/x: no space left on device', false, /does not fit/],
  ['something new', true, /gave no usable answer/],
])('%s becomes a sentence', (words, hasAuth, sentence) => {
  const failure = pullFailure('a/b:v1', new Error(words), hasAuth ? AUTH : undefined);
  expect(failure.message).toMatch(sentence);
  expect(failure.message).toContain('a/b:v1');
});

test('what answers at a port, or whether anything does, makes no difference', () => {
  const sentences = [
    'Get "http://10.0.0.5:22/v2/": dial tcp 10.0.0.5:22: connect: connection refused',
    'Get "http://10.0.0.5:22/v2/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH_9.2p1"',
    'Get "https://10.0.0.5:22/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded)',
    'Get "https://10.0.0.5:22/v2/": http: server gave HTTP response to HTTPS client',
    'error parsing HTTP 404 response body: invalid character \'<\' looking for beginning of value: "<html>secret</html>"',
    'received unexpected HTTP status: 500 Internal Server Error',
    'Get "https://10.0.0.5:22/v2/": dial tcp 10.0.0.5:22: i/o timeout',
    'Get "https://10.0.0.5:22/v2/": x509: certificate is valid for db.internal, not 10.0.0.5',
    'Get "https://10.0.0.5:22/v2/": dial tcp: lookup x on 10.0.0.53:53: no such host',
  ].map((words) => pullFailure('10.0.0.5:22/a', new Error(words), undefined).message);
  expect(new Set(sentences)).toEqual(
    new Set(["The registry 10.0.0.5:22 gave no usable answer for image '10.0.0.5:22/a'."]),
  );
});

test('the cause has the words, for the log, but not the password', () => {
  const { message, cause } = pullFailure('a/b', new Error('proxy says: hunter2 is wrong'), AUTH);
  expect((cause as Error).message).toBe('proxy says: … is wrong');
  expect(message).not.toContain('proxy');
});
