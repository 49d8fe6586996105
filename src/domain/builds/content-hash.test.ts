import { expect, test } from 'vitest';
import { type BuildContent, contentHashOf } from './content-hash.ts';

const recipe: BuildContent['recipe'] = {
  language: 'python',
  dockerfile: null,
  target: null,
  base: null,
  version: null,
  installer: 'pip',
  lockFiles: ['requirements.txt'],
  systemPackages: [],
  secretIds: [],
  buildCommand: null,
  entry: { kind: 'handler', file: 'handler.py', name: 'handler' },
};
const file = { path: 'handler.py', digest: 'a'.repeat(64), size: 1, mode: 0o644 };
const content: BuildContent = {
  entries: [file, { path: 'a', link: 'b' }],
  recipe,
  args: { A: '1', B: '2' },
  secrets: {},
};

test('the same in any order, whoever may read the files', () => {
  const { entry, ...rest } = recipe;
  const other: BuildContent = {
    entries: [
      { path: 'a', link: 'b' },
      { ...file, mode: 0o600 },
    ],
    recipe: { entry, ...rest },
    args: { B: '2', A: '1' },
    secrets: {},
  };
  expect(contentHashOf(other)).toBe(contentHashOf(content));
});

test.each<[string, Partial<BuildContent>]>([
  ['a content', { entries: [{ ...file, digest: 'b'.repeat(64) }, content.entries[1]!] }],
  ['an executable bit', { entries: [{ ...file, mode: 0o755 }, content.entries[1]!] }],
  ['a path', { entries: [{ ...file, path: 'main.py' }, content.entries[1]!] }],
  ['a link', { entries: [file, { path: 'a', link: 'c' }] }],
  ['a file less', { entries: [file] }],
  ['the recipe', { recipe: { ...recipe, systemPackages: ['ffmpeg'] } }],
  ['an argument', { args: { A: '1', B: '3' } }],
  ['a secret', { secrets: { A: 'token' } }],
])('another one with %s that differs', (_, change) => {
  expect(contentHashOf({ ...content, ...change })).not.toBe(contentHashOf(content));
});
