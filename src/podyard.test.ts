import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
/** Node.js as the system has it, where it has one. */
const SYSTEM_NODE = '/usr/bin/node';
const systemVersion = await run(SYSTEM_NODE, ['-p', 'process.versions.node']).then(
  ({ stdout }) => stdout.trim(),
  () => null,
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-entry-'));
  await mkdir(join(folder, 'dist'));
  const source = await readFile(new URL('podyard.ts', import.meta.url), 'utf8');
  // What `npm run build` makes of it, beside a program that Node.js 20 cannot load.
  await writeFile(join(folder, 'dist/podyard.js'), stripTypeScriptTypes(source).replace('./main.ts', './main.js'));
  await writeFile(
    join(folder, 'dist/main.js'),
    "import { enableCompileCache } from 'node:module';\nconsole.log(typeof enableCompileCache, process.argv[2]);\n",
  );
  await writeFile(join(folder, 'package.json'), await readFile(new URL('../package.json', import.meta.url)));
});
afterAll(() => rm(folder, { recursive: true }));

async function start(node: string, ...flags: string[]): Promise<{ code: number; out: string; err: string }> {
  return run(node, [...flags, join(folder, 'dist/podyard.js'), 'keys']).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
  );
}

test('on a new enough Node.js, the program is loaded with its arguments', async () => {
  expect(await start(process.execPath)).toEqual({ code: 0, out: 'function keys\n', err: '' });
});

test('an older version, here a pretended one, is refused in one line before anything is loaded', async () => {
  const pretend = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";
  expect(await start(process.execPath, '--import', `data:text/javascript,${encodeURIComponent(pretend)}`)).toEqual({
    code: 1,
    out: '',
    err: 'podyard: this is Node.js 20.20.2, but Podyard needs Node.js 24 or newer: https://nodejs.org\n',
  });
});

const isOlder = systemVersion !== null && Number.parseInt(systemVersion, 10) < 24;
test.skipIf(!isOlder)(`the system's Node.js, ${systemVersion}, says which one is needed`, async () => {
  expect(await start(SYSTEM_NODE)).toEqual({
    code: 1,
    out: '',
    err: `podyard: this is Node.js ${systemVersion}, but Podyard needs Node.js 24 or newer: https://nodejs.org\n`,
  });
});
