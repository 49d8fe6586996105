import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

test('docs/dependencies.md names every dependency, and no other', () => {
  const installed = ['package.json', 'console/package.json'].flatMap((path) => {
    const parsed = JSON.parse(read(path)) as Record<string, object>;
    return Object.keys({ ...parsed.dependencies, ...parsed.optionalDependencies, ...parsed.devDependencies });
  });
  const rows = read('docs/dependencies.md').matchAll(/^\| ([@a-z][^|]*?) +\|/gm);
  const named = [...rows].flatMap(([, names]) => names!.split(', '));
  expect(named.sort()).toEqual(installed.sort());
});
