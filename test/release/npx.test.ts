import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync } from 'node:fs';
import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readReleaseFacts } from '../../release/release-facts.ts';
import { runProgram } from '../../release/run-program.ts';
import { builtArtifacts } from './built.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 300_000;
const OTHER_NODES = ['20.20.2', '22.23.3'];
const QUIET = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
const isRoot = process.getuid?.() === 0;
/** An ordinary user: PostgreSQL started by root would run as another one in any case. */
const asUser = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--no-new-privs'] : [];

const { version } = readReleaseFacts();
let work: string;
/** An empty folder in which the package was installed, without install scripts. Nobody may write to it. */
let installed: string;
/** The `bin` folders of other versions of Node.js, by version. */
const nodes = new Map<string, string>();

beforeAll(async () => {
  work = await realpath(await mkdtemp(join(tmpdir(), 'podyard-npx-')));
  chmodSync(work, 0o755);
  installed = join(work, 'installed');
  await Promise.all([installPackage(), installNodes()]);
  if (isRoot) return;
  await run('chmod', ['-R', 'a-w', installed]);
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await run('chmod', ['-R', 'u+w', work]);
  await rm(work, { recursive: true, force: true });
});

async function installPackage(): Promise<void> {
  const file = join(await builtArtifacts(), `podyard-${version}.tgz`);
  mkdirSync(installed);
  await runProgram('npm', ['install', ...QUIET, '--ignore-scripts', file], { cwd: installed });
  nodes.set('24', join(installed, `node_modules/node-linux-${process.arch}/bin`));
}

async function installNodes(): Promise<void> {
  const folder = join(work, 'nodes');
  mkdirSync(folder);
  await writeFile(join(folder, 'package.json'), '{"private": true}');
  const wanted = OTHER_NODES.map((version) => `node-${version}@npm:node-linux-${process.arch}@${version}`);
  await runProgram('npm', ['install', ...QUIET, ...wanted], { cwd: folder });
  for (const version of OTHER_NODES) {
    nodes.set(version.split('.')[0]!, join(folder, `node_modules/node-${version}/bin`));
  }
}

/** Runs a command where the package is installed, as an ordinary user with this Node.js in the PATH. */
async function runOn(major: string, command: string[], folder = installed) {
  const home = await mkdtemp(join(work, 'home-'));
  if (isRoot) await run('chown', ['65534:65534', home]);
  const [program, ...args] = [...asUser, ...command];
  const env = { HOME: home, PATH: `${nodes.get(major)}:/usr/bin:/bin` };
  const dataDir = join(home, 'data');
  return run(program!, [...args], { cwd: folder, env: { ...env, PODYARD_DATA_DIR: dataDir }, timeout: 120_000 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr, dataDir }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr, dataDir }),
  );
}

describe.concurrent('npx podyard, from a folder that nobody may write to, whose install scripts were skipped', () => {
  test.each(['20', '22', '24'])(
    'on Node.js %s the demo works from beginning to end',
    async (major) => {
      const { stdout: node } = await runOn(major, ['node', '--version']);
      expect(node).toMatch(`v${major}.`);
      const command = ['npx', 'podyard', 'demo', '--exit', '--port', '0', '--runtime', 'process'];
      const { code, stdout, stderr, dataDir } = await runOn(major, command);
      expect({ code, stdout, stderr }).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Podyard is ready at http.*\n(.*\n)*.*all workers are gone again\n$/),
        stderr: expect.not.stringMatching(/^\s+at |Warning/m),
      });
      expect(await readdir(join(dataDir, 'lib'))).toContain('libpq.so.5');
    },
    150_000,
  );

  test.each(['20', '22'])('without npx, Node.js %s hands over to the one that npm installed', async (major) => {
    const { code, stdout, stderr } = await runOn(major, ['node_modules/.bin/podyard', '--version']);
    expect([code, stdout, stderr]).toEqual([0, `${version}\n`, '']);
  });

  test('where npm left out optional packages, a sentence says what to do', async () => {
    const alone = join(work, 'alone');
    cpSync(join(installed, 'node_modules/podyard'), join(alone, 'node_modules/podyard'), { recursive: true });
    const { code, stdout, stderr } = await runOn('20', ['sh', 'node_modules/podyard/bin/podyard'], alone);
    expect([code, stdout, stderr.trim().split('\n')]).toEqual([
      1,
      '',
      [expect.stringMatching(/^podyard: this is Node.js 20\.20\.2, but .* `npm install --include=optional podyard`/)],
    ]);
  });
});
