import { expect, test } from 'vitest';
import { parseHubRoute } from './hub-route.ts';

test.each([
  ['GET', '/o/m/resolve/main/a.json', { kind: 'file', name: 'o/m', revision: 'main', path: 'a.json' }],
  [
    'HEAD',
    '/gpt2/resolve/refs%2Fpr%2F1/a/b%20c.bin?download=true',
    { name: 'gpt2', revision: 'refs/pr/1', path: 'a/b c.bin' },
  ],
  ['GET', '/api/models/o/m', { kind: 'json', path: '/api/models/o/m', isPersonal: false }],
  ['GET', '/api/models/gpt2', { kind: 'json', path: '/api/models/gpt2' }],
  [
    'GET',
    '/api/models/o/m/revision/refs%2Fpr%2F1?blobs=true',
    { path: '/api/models/o/m/revision/refs%2Fpr%2F1?blobs=true' },
  ],
  [
    'GET',
    '/api/models/o/m/tree/main/sub/dir?recursive=true',
    { path: '/api/models/o/m/tree/main/sub/dir?recursive=true' },
  ],
  ['POST', '/api/models/o/m/paths-info/main', { kind: 'json', method: 'POST' }],
  ['GET', '/api/whoami-v2', { kind: 'json', isPersonal: true }],
  ['GET', '/api/models/o/m/auth-check', { kind: 'json', isPersonal: true }],
])('%s %s is served', (method, target, route) => {
  expect(parseHubRoute(method, target)).toMatchObject(route);
});

test.each([
  ['GET', '/', 'models alone'],
  ['GET', '/o/m/raw/main/a.json', 'it has only files of models'],
  ['GET', '/o/m/resolve/main/', 'it has only files of models'],
  ['GET', '/o/m/resolve/main/../../x', 'it has only files of models'],
  ['GET', '/o/m/resolve/main/%2e%2e/x', 'it has only files of models'],
  ['GET', '/o/m/resolve/main/a%5cb', 'it has only files of models'],
  ['GET', '/o/m/resolve/main/a%00b', 'it has only files of models'],
  ['GET', '/o%2f..%2fx/m/resolve/main/a', 'it has only files of models'],
  ['GET', '/o/m@evil.example.com/resolve/main/a', 'it has only files of models'],
  ['GET', '/o/m/resolve/../a', 'it has only files of models'],
  ['GET', '/o/m/resolve/main/%ff', 'not UTF-8'],
  ['GET', `/o/m/resolve/main/${'a'.repeat(5_000)}`, 'too long'],
  ['GET', '/datasets/o/m/resolve/main/a', 'it has no datasets'],
  ['GET', '/spaces/o/m/resolve/main/a', 'it has no spaces'],
  ['GET', '/api/models', 'single models'],
  ['GET', '/api/models?search=x', 'single models'],
  ['GET', '/api/datasets/o/m', 'single models'],
  ['GET', '/api/models/o/m/xet-read-token/main', 'does not answer this'],
  ['GET', '/api/models/o/m/tree', 'does not answer this'],
  ['POST', '/api/models/o/m/commit/main', 'does not answer this'],
  ['POST', '/api/models/o/m/preupload/main', 'does not answer this'],
  ['PUT', '/o/m/resolve/main/a', 'read only'],
  ['DELETE', '/api/models/o/m', 'asked with GET'],
  ['GET', 'http://elsewhere.example.com/o/m/resolve/main/a', 'it has only files of models'],
])('%s %s is refused with a sentence', (method, target, sentence) => {
  expect(() => parseHubRoute(method, target)).toThrow(sentence);
});
