import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const SOURCES = new URL('..', import.meta.url).pathname;
const DOCS = new URL('../../docs/operations.md', import.meta.url);
const CALL = /ogger\??\s*\.(?:debug|info|warn|error)\(\s*(\{[^}]*\}|\w+)/g;

test('every log field is listed in docs/operations.md', async () => {
  const section = /## Logs\n([\s\S]*?)(?=\n## |$)/.exec(await readFile(DOCS, 'utf8'))![1]!;
  const listed = [...section.matchAll(/`([a-zA-Z]+)`/g)].map(([, name]) => name!);
  const used = new Set<string>();
  let calls = 0;
  for await (const file of glob('**/*.ts', { cwd: SOURCES })) {
    if (file.endsWith('.test.ts')) continue;
    for (const [, fields] of (await readFile(SOURCES + file, 'utf8')).matchAll(CALL)) {
      calls += 1;
      for (const part of fields!.startsWith('{') ? fields!.slice(1, -1).split(',') : []) {
        const name = part.split(':')[0]!.trim();
        if (name !== '' && !name.startsWith('...')) used.add(name);
      }
    }
  }
  expect(calls).toBeGreaterThan(40);
  expect(used.size).toBeGreaterThan(15);
  expect([...used].filter((name) => !listed.includes(name))).toEqual([]);
});
