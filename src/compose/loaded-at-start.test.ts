import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url).pathname;

test('a start loads two packages, no command, no fetch and no table of locales: the rest waits for its first use', () => {
  const program = `${ROOT}test/fixtures/load-server.ts`;
  const loaded = JSON.parse(execFileSync(process.execPath, [program], { encoding: 'utf8' }));
  const { dependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
  const direct = loaded.packages.filter((name: string) => name in dependencies);
  expect({ ...loaded, packages: direct }).toEqual({
    packages: ['fastify', 'pg'],
    commands: [],
    tables: [],
    isUndiciLoaded: false,
  });
  for (const name of ['ajv', 'ajv-formats', 'fast-uri']) expect(loaded.packages).not.toContain(name);
});
