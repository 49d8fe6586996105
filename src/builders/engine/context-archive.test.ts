import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { archiveFolder } from './context-archive.ts';

test('an archive whose request is aborted ends with its error, and with no other that is unhandled', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'podyard-archive-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, name), Buffer.alloc(1_000_000));
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('uncaughtException', note);
  onTestFinished(() => void process.off('uncaughtException', note));

  const archive = archiveFolder(folder, []);
  await once(archive, 'readable');
  archive.on('error', () => {}).destroy(new Error('the build was cancelled'));
  await new Promise((resolve) => archive.on('close', resolve));
  await new Promise(setImmediate);
  expect(archive.errored).toMatchObject({ message: 'the build was cancelled' });
  expect(unhandled).toEqual([]);
});
