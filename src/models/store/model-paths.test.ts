import { expect, test } from 'vitest';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { checkNames, fileFolder, hubFolder } from './model-paths.ts';

const FILE = { path: 'a/b.bin', size: 1, digest: `sha256:${'0'.repeat(64)}` } as const;
const MODEL: PinnedModel = { id: 'x', source: 'HUB', name: 'org/name', commit: '0'.repeat(40), files: [FILE] };

test('names of the hub are folders as its clients name them', () => {
  for (const name of ['org/name', 'gpt2', 'o-r.g/n_a.me']) expect(() => checkNames({ ...MODEL, name })).not.toThrow();
  expect(hubFolder('org/name')).toBe('models--org--name');
  expect(hubFolder('gpt2')).toBe('models--gpt2');
});

test.each<[string, Partial<PinnedModel>]>([
  ['a name that leads up', { name: '../../etc' }],
  ['a name of three parts', { name: 'a/b/c' }],
  ['a commit that is a branch', { commit: 'main' }],
  ['a path that leads up', { files: [{ ...FILE, path: '../a.bin' }] }],
  ['an absolute path', { files: [{ ...FILE, path: '/a.bin' }] }],
  ['a path with an empty part', { files: [{ ...FILE, path: 'x//a.bin' }] }],
  ['a path with a NUL', { files: [{ ...FILE, path: 'a\0' }] }],
  ['a digest that is a path', { files: [{ ...FILE, digest: 'sha256:../x' }] }],
  ['a URL that is none', { source: 'HTTPS', name: 'weights.bin' }],
])('%s never becomes a path', (_what, change) => {
  expect(() => checkNames({ ...MODEL, ...change })).toThrow(/cannot be stored/);
});

test.each([
  ['https://example.com/a/b/c.gguf', 'https/example.com/a/b'],
  ['https://example.com:8443/c.gguf', 'https/example.com_8443/'],
  ['https://example.com/a/../../c.gguf', 'https/example.com/'],
  ['https://example.com/%2e%2e/%2E./x/c.gguf', 'https/example.com/x'],
])('the folder of %s is below that of its host', (url, folder) => {
  expect(fileFolder(url)).toBe(folder);
});
