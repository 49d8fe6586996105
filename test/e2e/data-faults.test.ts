import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { placeFreshData } from '../fresh-data.ts';
import { MAIN } from '../podyard-main.ts';
import { until } from './api.ts';
import { podyard, runToFailure } from './podyard-command.ts';

const ADVICE = 'To go on, start Podyard in a folder that you may write to, or name another one with --data-dir.';

let root: string;
let made: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-faults-'));
  made = join(root, 'made');
  await mkdir(made, { mode: 0o700 });
  await placeFreshData(made);
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Copies the data of a first start, to which something happens. */
async function dataWith(name: string, happens: (dataDir: string) => Promise<unknown>): Promise<string> {
  const dataDir = join(root, name.replaceAll('/', '-'));
  execFileSync('cp', ['-a', made, dataDir]);
  await happens(dataDir);
  return dataDir;
}

const serve = (dataDir: string) => ['serve', '--data-dir', dataDir, '--port', '0', '--runtime', 'process'];

test.each(['master-key', 'server.pid', 'postgres.log', 'postgres/postgresql.conf'])(
  'a folder in the place of %s is named, with what to do',
  async (file) => {
    const dataDir = await dataWith(file, async (folder) => {
      await rm(join(folder, file), { recursive: true, force: true });
      await mkdir(join(folder, file));
    });
    const output = await runToFailure(serve(dataDir));
    expect(output).toContain(join(dataDir, file));
    expect(output).toContain('a folder is in its place');
    expect(output).not.toMatch(/\bE[A-Z]{4,}\b/);
  },
);

test.each(['postgres', 'storage', 'process'])(
  'a file in the place of the folder %s is named, with what to do, or it does no harm',
  async (folder) => {
    const dataDir = await dataWith(`no-${folder}`, async (data) => {
      await rm(join(data, folder), { recursive: true, force: true });
      await writeFile(join(data, folder), '');
    });
    const server = podyard(serve(dataDir));
    const ended = once(server, 'close');
    await until(
      'it is ready or ended',
      async () => server.exitCode !== null || /is ready at/.test(server.text()),
      60_000,
    );
    server.kill('SIGTERM');
    await ended;
    const sentences = server
      .text()
      .split('\n')
      .filter((line) => line.startsWith('podyard: '));
    for (const sentence of sentences) {
      expect(sentence).toContain(join(dataDir, folder));
      expect(sentence).not.toMatch(/\bE[A-Z]{4,}\b/);
    }
  },
);

test.skipIf(process.getuid?.() !== 0)(
  'a data directory on a read-only file system is named, with what to do',
  async () => {
    const dataDir = await dataWith('read-only', async () => {});
    const script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
    const words = ['--mount', 'sh', '-c', script, dataDir, process.execPath, MAIN, ...serve(dataDir)];
    const { stderr } = spawnSync('unshare', words, { encoding: 'utf8', timeout: 100_000 });
    const sentence = `podyard: The data directory ${dataDir} cannot be written: the file system is read-only. ${ADVICE}\n`;
    expect(stderr).toContain(sentence);
  },
);
