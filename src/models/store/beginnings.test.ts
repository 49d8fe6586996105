import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { Beginnings } from './beginnings.ts';

const FILE: PinnedFile = { path: 'a', size: 10, digest: `sha256:${'1'.repeat(64)}` };
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'podyard-beginnings-'));
});
afterEach(() => rmSync(root, { recursive: true }));

async function open(owner?: string): Promise<Beginnings> {
  const beginnings = new Beginnings(root, owner);
  await beginnings.open();
  return beginnings;
}

/** Returns the beginning that a fetcher of another process left, whose name is this one's with another number and start. */
function leave(like: Beginnings, pid: number, start: string): string {
  const own = dirname(like.pathOf(FILE));
  const folder = own.replace(/-\d+-\d+-\d+$/, `-${pid}-${start}-1`);
  mkdirSync(folder);
  const path = join(folder, FILE.digest.replace(':', '-'));
  writeFileSync(path, 'begun', { mode: 0o444 });
  writeFileSync(`${path}.tag`, '"tag"');
  return path;
}

function startOf(pid: number): string {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')[19]!;
}

test('the beginning of a process that has ended is gone on with, as it is', async () => {
  const next = await open();
  const dead = spawn('true');
  await once(dead, 'exit');
  for (const [pid, start] of [
    [dead.pid!, '5'],
    [process.ppid, '6'],
  ] as const) {
    // the second number is another process's now
    const left = leave(next, pid, start);
    const { ino } = statSync(left);
    await next.takeOver(FILE);
    expect(statSync(next.pathOf(FILE))).toMatchObject({ ino, mode: 0o100600 });
    expect(readFileSync(`${next.pathOf(FILE)}.tag`, 'utf8')).toBe('"tag"');
    expect(existsSync(dirname(left))).toBe(false);
    await next.remove({ path: next.pathOf(FILE) });
  }
});

test('the beginning of a process that runs, perhaps frozen, is left alone', async () => {
  const next = await open();
  const left = leave(next, process.ppid, startOf(process.ppid));
  await next.takeOver(FILE);
  expect(existsSync(next.pathOf(FILE))).toBe(false);
  expect(readFileSync(left, 'utf8')).toBe('begun');
  expect(await next.list()).toMatchObject([{ path: left, bytes: 5, isOwn: false, isOthers: true }]);
});

test.each(['another machine', 'an earlier version'])(
  'the beginning of %s is copied: nobody knows who writes to it',
  async (who) => {
    const next = await open();
    const folder = join(root, 'partial', who === 'another machine' ? 'other-1-7-9-1' : '');
    mkdirSync(folder, { recursive: true });
    const left = join(folder, FILE.digest.replace(':', '-'));
    writeFileSync(left, 'begun');
    const { ino } = statSync(left);
    await next.takeOver(FILE);
    expect(statSync(next.pathOf(FILE)).ino).not.toBe(ino);
    expect(readFileSync(next.pathOf(FILE), 'utf8')).toBe('begun');
    expect(existsSync(left)).toBe(false);
  },
);

test('what is coming counts for other fetchers until it has ended', async () => {
  const [one, other] = [await open(), await open()];
  await one.noteComing(FILE);
  writeFileSync(one.pathOf(FILE), 'begun');
  expect(await other.list()).toMatchObject([{ bytes: 5, comingBytes: 5, isOwn: false }]);
  await one.noteEnd(FILE);
  expect(await other.list()).toMatchObject([{ bytes: 5, comingBytes: 0 }]);
  await one.noteComing(FILE);
  await one.open(); // starts anew
  expect(readdirSync(dirname(one.pathOf(FILE)))).toEqual([FILE.digest.replace(':', '-')]);
});
