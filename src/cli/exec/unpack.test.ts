import { mkdtemp, readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
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

test.each<[what: string, links: [name: string, to: string][], kept: string[]]>([
  [
    'below a link to its own folder',
    [
      ['x', '.'],
      ['x/x/x/evil', '../../etc/passwd'],
    ],
    ['x'],
  ],
  [
    'below a link that comes later',
    [
      ['x/x/x/evil', '../../etc/passwd'],
      ['x', '.'],
    ],
    ['x'],
  ],
  [
    'through a link that leads up',
    [
      ['a/b/c/up', '../../..'],
      ['evil', 'a/b/c/up/../passwd'],
    ],
    ['a/b/c/up'],
  ],
  [
    'through two links',
    [
      ['a/b/up', '../..'],
      ['over', 'a/b/up'],
      ['evil', 'over/../passwd'],
    ],
    ['a/b/up', 'over'],
  ],
  [
    'in a circle',
    [
      ['evil', 'wheel'],
      ['wheel', 'evil'],
    ],
    [],
  ],
  [
    'through a link to the root',
    [
      ['out', '/'],
      ['evil', 'out/etc'],
    ],
    [],
  ],
  [
    'nowhere',
    [
      ['a/b/dangling', '../missing/file'],
      ['same', './a//b/'],
    ],
    ['a/b/dangling', 'same'],
  ],
])('of links that lead out %s, none is made', async (_, links, kept) => {
  await receive(
    [{ name: 'data', type: 'directory' }],
    ...links.map(([name, linkname]): [Partial<Header> & { name: string }] => [
      { name: `data/${name}`, type: 'symlink', linkname },
    ]),
  );
  const made = await readdir(content(), { recursive: true, withFileTypes: true });
  const paths = made.filter((file) => file.isSymbolicLink()).map((file) => join(file.parentPath, file.name));
  expect(paths.toSorted()).toEqual(kept.map((path) => content(path)).toSorted());
  expect(notes).toHaveLength(links.length - kept.length);
});

test('what is a link itself is an error that says what to do', async () => {
  await expect(receive([{ name: 'current', type: 'symlink', linkname: 'release' }])).rejects.toThrow(
    'current is a link: name what it points to',
  );
});

test('a broken archive is an error', async () => {
  const archive = pack();
  archive.entry({ name: 'data' }, 'x'.repeat(5000));
  archive.finalize();
  const bytes = await buffer(archive as AsyncIterable<Buffer>);
  await expect(unpack(Readable.from([bytes.subarray(0, 2000)]), join(home, 'part'), () => {})).rejects.toThrow();
});
