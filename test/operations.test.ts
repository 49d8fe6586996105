import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const sources = (pattern: string) =>
  globSync(pattern)
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }));

test('no two operations have the same name, which log and audit entries hold', () => {
  const names = sources('src/domain/**/*.ts').flatMap(({ text }) =>
    [...text.matchAll(/: Operation<[\s\S]*?> = \{\n {2}name: '([^']+)'/g)].map(([, name]) => name!),
  );
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  expect(names.filter((name) => !/^[a-z]+\.[a-z-]+$/.test(name))).toEqual([]);
});

test('REST, GraphQL and the command line change rows only through operations', () => {
  const writes = /\b(?:insert|update|upsert|delete|write|want|mark)[A-Z]\w*/;
  const bypassing = sources('src/{rest,graphql,cli}/**/*.ts').flatMap(({ file, text }) =>
    [...text.matchAll(/import \{([^}]*)\} from '[^']*(?:-store|db\/pool)\.ts'/g)]
      .filter(([, names]) => writes.test(names!) || /\btransaction\b/.test(names!))
      .map(() => file),
  );
  expect(bypassing).toEqual([]);
});
