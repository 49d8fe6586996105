import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { PartialFile } from './partial-file.ts';

const CHUNK = Buffer.alloc(2 ** 17, 'x');
const CHUNKS = 16;
const MB = 2 ** 20;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'podyard-partial-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each([8, 32])('%i files that are fetched at once keep 12 MB of what came, and no more', async (count) => {
  const content = Buffer.concat(Array.from({ length: CHUNKS }, () => CHUNK));
  const digest = createHash('sha256').update(content).digest('hex');
  const file: PinnedFile = { path: 'a', size: content.length, digest: `sha256:${digest}` };
  const partials = await Promise.all(
    Array.from({ length: count }, (_, i) => PartialFile.open(join(folder, `${i}`), file)),
  );
  const kept: ArrayBufferLike[] = [];
  let peak = 0;
  for (let i = 0; i < CHUNKS; i++) {
    for (const partial of partials) {
      const chunk = Buffer.from(new Uint8Array(CHUNK).buffer);
      kept.push(chunk.buffer);
      await partial.write(chunk);
      peak = Math.max(
        peak,
        kept.reduce((sum, { byteLength }) => sum + byteLength, 0),
      );
    }
  }
  expect(peak).toBeLessThanOrEqual(12 * MB);
  for (const partial of partials) {
    expect(await partial.finish()).toBe(true);
    await partial.close();
  }
  expect(kept.every(({ byteLength }) => byteLength === 0)).toBe(true);
  expect(readFileSync(join(folder, '0')).equals(content)).toBe(true);
});

test('a chunk of a buffer that others use leaves those alone', async () => {
  const shared = Buffer.from('one two');
  const digest = createHash('sha256').update('one').digest('hex');
  const partial = await PartialFile.open(join(folder, 'a'), { path: 'a', size: 3, digest: `sha256:${digest}` });
  await partial.write(shared.subarray(0, 3));
  expect(await partial.finish()).toBe(true);
  await partial.close();
  expect(shared.toString()).toBe('one two');
});

test('what two processes wrote at once is not called right, and the next try is', async () => {
  const content = Buffer.alloc(2 ** 17, 'y');
  const digest = createHash('sha256').update(content).digest('hex');
  const file: PinnedFile = { path: 'a', size: content.length, digest: `sha256:${digest}` };
  const path = join(folder, 'a');
  const [one, other] = [await PartialFile.open(path, file), await PartialFile.open(path, file)];
  for (const partial of [one, other]) {
    await partial.write(Buffer.from(content));
    await partial.flush();
  }
  expect(await one.finish()).toBe(false); // its own bytes were right, but the file has twice as many
  await other.close();
  await one.restart();
  await one.write(Buffer.from(content));
  expect(await one.finish()).toBe(true);
  await one.close();
  expect(readFileSync(path).equals(content)).toBe(true);
});
