import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../test/e2e/api.ts';
import { COMPLETE, CONTENT, RECEIVE, SEND } from './copy-scripts.ts';

const BLOCK = 512;

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'podyard-receive-'));
});
afterEach(() => rm(home, { recursive: true }));

/** Sends the first `blocks` of an archive of a folder with two files; returns what it said and what is there then. */
async function receive(blocks: number) {
  const archive = pack();
  archive.entry({ name: CONTENT, type: 'directory' });
  archive.entry({ name: `${CONTENT}/a` }, 'first');
  archive.entry({ name: `${CONTENT}/b` }, 'second');
  archive.entry({ name: COMPLETE }, '');
  archive.finalize();
  const bytes = await buffer(archive as AsyncIterable<Buffer>);
  const child = spawn('sh', ['-c', RECEIVE, 'podyard', `${home}/data`, 'data'], { stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.end(bytes.subarray(0, blocks * BLOCK));
  const [said, [status]] = await Promise.all([buffer(child.stderr), once(child, 'exit')]);
  return { status: status as number, said: String(said), left: (await readdir(home, { recursive: true })).toSorted() };
}

test('a whole archive is unpacked under its name', async () => {
  expect(await receive(1_000)).toEqual({ status: 0, said: '', left: ['data', 'data/a', 'data/b'] });
});

test.each([1, 2, 3, 4, 5])('an archive that is cut off after %s blocks leaves nothing', async (blocks) => {
  const { status, left } = await receive(blocks);
  expect(left).toEqual([]);
  expect(status).not.toBe(0);
});

test('a program that is hung up leaves nothing, though nobody reads what its shell says of that', async () => {
  const child = spawn('sh', ['-c', RECEIVE, 'podyard', `${home}/data`, 'data'], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  await until('it unpacks', async () => (await readdir(home)).length > 0);
  child.stderr.destroy();
  process.kill(-child.pid!, 'SIGHUP');
  const [status] = await once(child, 'exit');
  expect(status).toBe(1);
  await until('nothing is left', async () => (await readdir(home)).length === 0);
});

test.each([
  ['/data/a', ['a']],
  ['/data/', ['data/', 'data/a']],
  ['/data//', ['data/', 'data/a']],
  ['data', ['data/', 'data/a']],
  ['./data/a', ['a']],
])('%s is sent under its last name', async (from, names) => {
  await mkdir(join(home, 'data'));
  await writeFile(join(home, 'data', 'a'), 'first');
  const path = from.startsWith('/') ? home + from : from;
  const child = spawn('sh', ['-c', SEND, 'podyard', path], { cwd: home, stdio: ['ignore', 'pipe', 'inherit'] });
  const sent: string[] = [];
  for await (const entry of child.stdout.pipe(extract())) {
    sent.push(entry.header.name);
    entry.resume();
  }
  expect(sent).toEqual(names);
});
