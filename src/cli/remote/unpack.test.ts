import { mkdtemp, readFile, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Header, pack } from 'tar-stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unpack } from './unpack.ts';

let home: string;
const notes: string[] = [];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'podyard-unpack-'));
  notes.length = 0;
});
afterEach(() => rm(home, { recursive: true }));

async function receive(...entries: [header: Partial<Header> & { name: string }, text?: string][]): Promise<void> {
  const archive = pack();
  for (const [header, text] of entries) archive.entry(header, text ?? '');
  archive.finalize();
  await unpack(archive as AsyncIterable<Buffer>, join(home, 'part'), (text) => notes.push(text));
}
const content = (path = '') => join(home, 'part', 'content', path);

test('files, folders and links inside come with permissions and times, without setuid', async () => {
  const mtime = new Date('2026-01-02T03:04:05Z');
  await receive(
    [{ name: 'data', type: 'directory', mode: 0o750, mtime }],
    [{ name: 'data/žluť 🦄.sh', mode: 0o4755, mtime }, 'echo hi'],
    [{ name: 'data/link', type: 'symlink', linkname: 'žluť 🦄.sh' }],
  );
  const info = await stat(content('žluť 🦄.sh'));
  expect([info.mode & 0o7777, info.mtime]).toEqual([0o755, mtime]);
  expect((await stat(content())).mode & 0o7777).toBe(0o750);
  expect(await readFile(content('link'), 'utf8')).toBe('echo hi');
});

test('a single file becomes the content itself', async () => {
  await receive([{ name: 'model.bin' }, 'weights']);
  expect(await readFile(content(), 'utf8')).toBe('weights');
});

test.each(['../evil', 'data/../../evil', '/etc/evil', 'data/../..'])(
  '%s is refused, and nothing is written outside',
  async (name) => {
    await expect(receive([{ name: 'data', type: 'directory' }], [{ name }, 'evil'])).rejects.toThrow(
      'outside of what was asked',
    );
    await expect(stat(join(home, 'evil'))).rejects.toThrow('ENOENT');
  },
);

test('links to elsewhere are left out, and nothing is written through a link', async () => {
  await receive(
    [{ name: 'data', type: 'directory' }],
    [{ name: 'data/out', type: 'symlink', linkname: '/etc' }],
    [{ name: 'data/up', type: 'symlink', linkname: '../../..' }],
    [{ name: 'data/hard', type: 'link', linkname: '/etc/passwd' }],
    [{ name: 'data/fifo', type: 'fifo' }],
    [{ name: 'data/out/passwd' }, 'mine'],
  );
  expect(await readFile(content('out/passwd'), 'utf8')).toBe('mine'); // a folder of ours
  expect(notes).toHaveLength(4);
  await expect(readlink(content('up'))).rejects.toThrow('ENOENT');
});

test('a broken archive is an error', async () => {
  const archive = pack();
  archive.entry({ name: 'data' }, 'x'.repeat(5000));
  archive.finalize();
  const bytes = await buffer(archive as AsyncIterable<Buffer>);
  await expect(unpack(Readable.from([bytes.subarray(0, 2000)]), join(home, 'part'), () => {})).rejects.toThrow();
});
