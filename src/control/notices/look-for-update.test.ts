import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../core/logger.ts';
import { updateLook } from './look-for-update.ts';

const HOUR = 3_600_000;

let place: string;
let nowMs: number;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'podyard-releases-'));
  nowMs = 1;
});
afterEach(() => rm(place, { recursive: true, force: true }));

const sums = (...versions: string[]) =>
  versions.map((version) => `${'0'.repeat(64)}  podyard-${version}-linux-${process.arch}.tar.gz\n`).join('');
const publish = (...versions: string[]) => writeFile(join(place, 'SHA256SUMS'), sums(...versions));
const look = (from: string | null) =>
  updateLook({ place: from, current: '0.2.0', clock: { now: () => nowMs }, logger: silentLogger });

test('nothing is looked up where the operator names no place', () => {
  expect(look(null)()).toBeNull();
});

test('the newest version there is told once it is newer than this one; a day later it looks again', async () => {
  await publish('0.1.0', '0.2.0');
  const known = look(place);
  expect(known()).toBeUndefined();
  await expect.poll(known).toBeNull();
  await publish('0.2.0', '0.10.0', '0.3.0');
  nowMs += 23 * HOUR;
  expect(known()).toBeNull();
  nowMs += HOUR;
  await expect.poll(known).toEqual({ version: '0.10.0', current: '0.2.0', place });
});

test('a version before a release of the same number is older, and not told', async () => {
  await publish('0.2.0-rc.1');
  const known = look(place);
  await expect.poll(known).toBeNull();
});

test('a place that cannot be read says nothing, holds up nothing, and is tried again after an hour', async () => {
  const bodies = [null, 'x'.repeat(2 ** 20 + 1), sums('0.3.0')];
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    const body = bodies.shift();
    response.writeHead(body ? 200 : 503).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const known = look(`http://127.0.0.1:${(server.address() as AddressInfo).port}/podyard`);
    expect(known()).toBeUndefined();
    const anHourLater = () => {
      nowMs += HOUR;
      return known();
    };
    await expect.poll(anHourLater).toMatchObject({ version: '0.3.0' });
    expect(asked).toEqual(Array.from({ length: 3 }, () => '/podyard/SHA256SUMS'));
  } finally {
    server.close();
  }
});
