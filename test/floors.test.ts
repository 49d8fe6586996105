import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = new URL('..', import.meta.url).pathname;
const CONFIG = join(ROOT, '.dependency-cruiser.cjs');
const RULES: string[] = createRequire(import.meta.url)(CONFIG).forbidden.map((rule: { name: string }) => rule.name);

let house: string;
beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), 'podyard-floors-'));
  symlinkSync(join(ROOT, 'node_modules'), join(house, 'node_modules'));
  symlinkSync(join(ROOT, 'package.json'), join(house, 'package.json'));
});
afterAll(() => rmSync(house, { recursive: true }));

/** Builds a source tree of these files and returns the rules that each of them breaks. */
function inspect(files: Record<string, string>): Record<string, string[]> {
  rmSync(join(house, 'src'), { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(house, path)), { recursive: true });
    writeFileSync(join(house, path), text);
  }
  const cruise = join(ROOT, 'node_modules/.bin/depcruise');
  const run = spawnSync(cruise, ['--config', CONFIG, '--output-type', 'json', 'src'], { cwd: house, encoding: 'utf8' });
  const broken: Record<string, string[]> = {};
  for (const { from, rule } of JSON.parse(run.stdout).summary.violations) {
    broken[from] = [...new Set([...(broken[from] ?? []), rule.name])];
  }
  return broken;
}

test('every rule finds what it forbids, type-only imports included', () => {
  const broken = inspect({
    'src/main.ts': 'export const main = 1;',
    'src/core/a.ts': "import type { D } from '../db/d.ts'; export type A = D;",
    'src/config/config.ts': "export * from '../cli/c.ts';",
    'src/db/d.ts': "import { e } from '../domain/x/e.ts'; export type D = typeof e;",
    'src/domain/x/e.ts': "export { h as e } from '../../http/h.ts';",
    'src/scaling/s.ts': "import { h } from '../http/h.ts'; import 'node:fs'; export const s = h;",
    'src/http/h.ts': "export { r as h } from '../runtimes/r.ts';",
    'src/runtimes/r.ts': "export const r = await import('../rest/t.ts');",
    'src/engine/e.ts': "import '../db/d.ts';",
    'src/builders/b.ts': "import '../runtimes/r.ts';",
    'src/models/m.ts': "import '../builders/b.ts';",
    'src/outbound/o.ts': "import '../http/h.ts';",
    'src/rest/t.ts': "import '../dataplane/p.ts'; import { Type } from 'typebox'; export const x = Type;",
    'src/graphql/g.ts': "import '../rest/t.ts';",
    'src/sign-in/i.ts': "import '../rest/t.ts';",
    'src/dataplane/p.ts': "import '../control/o.ts';",
    'src/dataplane/wire/w.ts': "import type {} from '../p.ts';",
    'src/control/o.ts': "import '../cli/c.ts';",
    'src/control/x/decide-x.ts': "import '../o.ts';",
    'src/cli/c.ts': "import '../main.ts';",
    'src/compose/b.ts': "import '../server.ts';",
    'src/server.ts': '',
    'src/db/one.ts': "import './two.ts';",
    'src/db/two.ts': "import './one.ts';",
    'src/elsewhere/f.ts': '',
    'src/main.test.ts': "import 'vitest';",
    'src/db/user.ts': "import '../elsewhere/f.ts'; import '../main.test.ts'; import 'vitest'; import './missing.ts';",
  });
  expect(new Set(Object.values(broken).flat())).toEqual(new Set(RULES));
  expect(broken['src/core/a.ts']).toEqual(['floor-0-core']);
  expect(broken['src/scaling/s.ts']).toEqual(expect.arrayContaining(['floor-2-scaling', 'scaling-is-pure']));
});

test('imports from lower floors, and any import of a test, are allowed', () => {
  const broken = inspect({
    'src/main.ts': "import './server.ts';",
    'src/server.ts': "import './rest/t.ts'; import './cli/c.ts'; import './config/config.ts';",
    'src/config/config.ts': "import '../core/a.ts';",
    'src/cli/c.ts': "import '../core/a.ts';",
    'src/rest/t.ts':
      "import '../domain/x/e.ts'; import '../scaling/s.ts'; import 'pg'; import type { Static } from 'typebox'; export type S = Static<never>;",
    'src/scaling/s.ts': "import '../core/a.ts'; import type { C } from '../config/config.ts'; export type S = C;",
    'src/scaling/s.test.ts': "import '../rest/t.ts'; import 'vitest';",
    'src/domain/x/e.ts': "import '../y/f.ts'; import '../../db/d.ts'; import '../../scaling/s.ts'; export type E = 1;",
    'src/domain/y/f.ts': '',
    'src/db/d.ts': "import 'pg'; import 'node:fs';",
    'src/core/a.ts': '',
  });
  expect(broken).toEqual({});
});
