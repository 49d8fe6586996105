/**
 * Runs the commands of docs/guide/install.md on a machine that has only what the page asks for. Those for containers run in
 * compose.test.ts.
 */
import { execFile } from 'node:child_process';
import { copyFile, link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../release/release-facts.ts';
import { copyProgram } from '../containers/package-images.ts';
import { type Block, readBlocks } from '../e2e/docs-commands.ts';
import { type BuiltRelease, builtRelease } from './built.ts';
import { debianTree } from './debian-tree.ts';
import { Machine } from './machine.ts';

const run = promisify(execFile);
/** Where a release is published, on the machine. */
const PUBLISHED = 'http://127.0.0.1:8000';
/** Serves the files of /published, as a web server of the operator's does. */
const WEB_SERVER = `require('node:http').createServer((request, response) => {
  const file = require('node:fs').createReadStream('/published' + request.url);
  file.on('error', () => response.writeHead(404).end()).pipe(response);
}).listen(8000, '127.0.0.1', () => console.log('listening'))`;
/** This machine's curl on its own libraries, so that those of the other one stay as they are. */
const CURL = `#!/bin/sh
set -- /tools/curl "$@"
loader=$(find /tools -name 'ld-linux*')
libraries=$(find /tools -name '*.so.*' -printf '%h\\n' | sort -u | paste -s -d :)
exec "$loader" --library-path "$libraries" "$@"
`;

let blocks: Block[];
let release: BuiltRelease;
let folder: string;
beforeAll(async () => {
  blocks = readBlocks(await readFile(join(ROOT, 'docs/guide/install.md'), 'utf8'));
  release = await builtRelease();
  folder = await mkdtemp(join(tmpdir(), 'podyard-install-page-'));
}, 400_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const commandsOf = (place: string): string[] =>
  blocks
    .filter(({ info }) => info === `sh run=${place}`)
    .map(({ text }) => text.replaceAll(/<this repository>\/releases\/download\/v[\d.]+/g, PUBLISHED));

test('every command on the page is run, here or in compose.test.ts', () => {
  const places = blocks.filter(({ info }) => /^sh\b/.test(info)).map(({ info }) => info);
  expect([...new Set(places)].toSorted()).toEqual([
    'sh run=containers',
    'sh run=npx',
    'sh run=offline',
    'sh run=service',
  ]);
});

describe('on a new Debian 12 with curl and sudo', () => {
  let machine: Machine;
  beforeAll(async () => {
    const layer = join(folder, 'layer');
    const published = join(layer, 'published');
    await mkdir(published, { recursive: true });
    const files = join(release.archive, '..');
    for (const name of await readdir(files)) {
      await link(join(files, name), join(published, name)).catch(() =>
        copyFile(join(files, name), join(published, name)),
      );
    }
    await copyFile(join(ROOT, 'release/install.sh'), join(published, 'install.sh'));
    await mkdir(join(layer, 'usr/local/bin'), { recursive: true });
    const tools = join(layer, 'tools');
    copyProgram('/usr/bin/curl', join(tools, 'curl'), tools);
    await copyFile(join(release.tree, 'node/bin/node'), join(tools, 'node'));
    await writeFile(join(layer, 'usr/local/bin/curl'), CURL, { mode: 0o755 });
    await writeFile(join(layer, 'usr/local/bin/sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    machine = await Machine.start(await debianTree(), [layer]);
    const start = `/tools/node -e "${WEB_SERVER}" >/root/web-server.log 2>&1 &
      until grep -q listening /root/web-server.log; do sleep 0.1; done`;
    expect(await machine.sh(start)).toMatchObject({ code: 0 });
  }, 400_000);
  afterAll(() => machine?.remove());

  const onMachine = async (script: string) => {
    const { code, output } = await machine.sh(`set -e; cd /root\n${script}`);
    expect(code, output).toBe(0);
    return output;
  };

  test('the commands for a service install it, find nothing newer, and remove it but for its data', async () => {
    const [install, upgrade, uninstall, ...others] = commandsOf('service');
    expect(others).toEqual([]);

    const installed = await onMachine(install!);
    expect(installed).toMatch(new RegExp(`Podyard ${release.version} is ready at http://127\\.0\\.0\\.1:8080`));
    const key = /Your first API key, shown only once: (pyk_\w+)/.exec(installed)![1]!;
    expect(await onMachine('podyard --version')).toBe(`${release.version}\n`);
    const env = `PODYARD_URL=http://127.0.0.1:8080 PODYARD_API_KEY=${key}`;
    const first = `${env} podyard endpoints create first --image podyard/echo-js:dev --pool ADA_24 --workers-max 1`;
    expect(await onMachine(`${first} && ${env} podyard run first '{"echo": "installed"}'`)).toContain('installed');
    const settings = 'stat -c "%a %U" /etc/podyard.env /var/lib/podyard';
    expect(await onMachine(settings)).toBe('600 root\n700 podyard\n');

    expect(await onMachine(upgrade!)).toContain(
      `Podyard ${release.version} is installed, and the newest in ${PUBLISHED} is`,
    );
    expect(await onMachine(`${env} podyard endpoints list`)).toContain('first');

    expect(await onMachine(uninstall!)).toContain('Podyard is removed; its data is in /var/lib/podyard');
    expect(await onMachine('ls /var/lib/podyard; ls /opt/podyard')).toMatch(/^[^/]*\bpostgres\b/);
    expect(await machine.sh('podyard --version')).toMatchObject({ code: 127 });
  });
});

test('the command for npx takes the tour, where npm has installed the package', async () => {
  const [demo, ...others] = commandsOf('npx');
  expect(others).toEqual([]);
  const place = join(folder, 'npx');
  await mkdir(join(place, 'node_modules/.bin'), { recursive: true });
  await symlink(join(release.tree, 'bin/podyard'), join(place, 'node_modules/.bin/podyard'));
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, PODYARD_RUNTIME: 'process', PODYARD_PORT: '0', NODE_DISABLE_COMPILE_CACHE: '1' };
  const { stdout } = await run('sh', ['-e', '-c', demo!], { cwd: place, env, timeout: 120_000, maxBuffer: 2 ** 24 });
  expect(stdout).toMatch(/release/);
  expect(await readdir(place)).toContain('.podyard');
});
