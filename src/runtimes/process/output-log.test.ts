import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LogLine } from '../runtime.ts';
import { OutputLog } from './output-log.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'podyard-log-'));
  path = join(folder, 'output.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Appends text with the given modification time. */
function write(text: string, ms: number): void {
  appendFileSync(path, text);
  utimesSync(path, ms / 1000, ms / 1000);
}

async function read(
  log: OutputLog,
  from: { since?: Date; seen?: number } = {},
  isOver = true,
): Promise<[number, string][]> {
  const lines: LogLine[] = [];
  for await (const line of log.read({ ...from, follow: false, signal: new AbortController().signal }, () => isOver))
    lines.push(line);
  return lines.map(({ ts, line }) => [ts.getTime(), line]);
}

test('lines keep the time when they were first seen, also after a restart', async () => {
  const log = new OutputLog(path, 1e6);
  write('a\nb\nhalf', 1000);
  log.refresh();
  write(' and half\nc\n', 2000);
  log.refresh();
  const all = [
    [1000, 'a'],
    [1000, 'b'],
    [1000, 'half and half'],
    [2000, 'c'],
  ];
  expect(await read(log)).toEqual(all);
  const restarted = new OutputLog(path, 1e6);
  write('d\n', 3000);
  expect(await read(restarted)).toEqual([...all, [3000, 'd']]);
  expect(await read(restarted, { since: new Date(1000), seen: 2 })).toEqual([...all.slice(2), [3000, 'd']]);
  expect(await read(restarted, { since: new Date(1000) })).toEqual([...all.slice(3), [3000, 'd']]);
  expect(await read(restarted, { since: new Date(2000), seen: 0 })).toEqual([...all.slice(3), [3000, 'd']]);
  expect(await read(log)).toEqual([...all, [3000, 'd']]);
});

test('a last line without a line end is held back until the workload ends', async () => {
  const log = new OutputLog(path, 1e6);
  write('a\nopen', 1000);
  expect(await read(log, {}, false)).toEqual([[1000, 'a']]);
  expect(await read(log, {}, true)).toEqual([
    [1000, 'a'],
    [1000, 'open'],
  ]);
});

test('a log that grows too large is emptied with a notice, and followers read on', async () => {
  const log = new OutputLog(path, 1000);
  const stop = new AbortController();
  const lines: string[] = [];
  const following = (async () => {
    for await (const { line } of log.read({ follow: true, signal: stop.signal }, () => false)) {
      lines.push(line);
      if (line === 'after') stop.abort();
    }
  })();
  for (let i = 0; i < 30; i++) {
    appendFileSync(path, `${String(i).padStart(99, '0')}\n`);
    log.refresh();
  }
  appendFileSync(path, 'after\n');
  log.refresh();
  await following;
  expect(statSync(path).size).toBeLessThan(1300);
  expect(lines).toContain('[podyard] older lines dropped: the log is limited to 1000 bytes');
  expect(lines.at(-1)).toBe('after');
});

/** A file system of 64 KiB at `folder`, which needs root. */
function mountSmall(): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'podyard-test', folder]).status === 0;
}

test('on a full disk the output is read on, errors are reported, and nothing is thrown or lost', async ({ skip }) => {
  if (!mountSmall()) skip('mounting a small file system needs root');
  try {
    const errors: unknown[] = [];
    const log = new OutputLog(path, 1e6, { onError: (error) => errors.push(error) });
    write('a\n', 1000); // takes a page of the file system; the index has none yet
    expect(() => {
      for (;;) appendFileSync(join(folder, 'filler'), Buffer.alloc(1024));
    }).toThrow('ENOSPC');
    write('b\n', 2000);
    log.refresh();
    expect(errors).toMatchObject([{ code: 'ENOSPC' }]);
    expect((await read(log)).map(([, line]) => line)).toEqual(['a', 'b']);
    rmSync(join(folder, 'filler'));
    write('c\n', 3000);
    expect((await read(log)).map(([, line]) => line)).toEqual(['a', 'b', 'c']);
    expect((await read(new OutputLog(path, 1e6))).map(([, line]) => line)).toEqual(['a', 'b', 'c']);
  } finally {
    spawnSync('umount', [folder]);
  }
});
