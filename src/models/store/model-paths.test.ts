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
  ['a key that leads up', { source: 'S3', name: 's3://models/../a.bin' }],
  ['a repository that leads up', { source: 'OCI', name: 'oci://example.com/../a' }],
])('%s never becomes a path', (_what, change) => {
  expect(() => checkNames({ ...MODEL, ...change })).toThrow(/cannot be stored/);
});

test.each([
  ['https://example.com/a/b/c.gguf', 'https/example.com/a/b'],
  ['https://example.com:8443/c.gguf', 'https/example.com_8443/'],
  ['https://example.com/a/../../c.gguf', 'https/example.com/'],
  ['https://example.com/%2e%2e/%2E./x/c.gguf', 'https/example.com/x'],
  ['https://[2001:db8::1]:8443/c.gguf', 'https/_2001_db8__1__8443/'],
])('the folder of %s is below that of its host', (name, folder) => {
  expect(fileFolder({ source: 'HTTPS', name })).toBe(folder);
});

test('models of buckets and registries have folders by their names', () => {
  expect(fileFolder({ source: 'S3', name: 's3://models/llama/a.gguf?region=eu-west-1' })).toBe('s3/models/llama');
  const name = 's3://models/a.gguf?endpoint=http://minio:9000/s3';
  expect(fileFolder({ source: 'S3', name })).toBe('s3/minio_9000/models');
  expect(fileFolder({ source: 'OCI', name: 'oci://localhost:5000/ai/qwen3' })).toBe('oci/localhost_5000/ai/qwen3');
});
