import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { Engine } from '../../../engine/engine.ts';
import { familiarName, pullImage, withTag } from './pull-image.ts';

test('a name without a tag means latest: the engine would pull every tag', () => {
  expect(withTag('nginx')).toBe('nginx:latest');
  expect(withTag('localhost:5000/nginx')).toBe('localhost:5000/nginx:latest');
  expect(withTag('ghcr.io/a/b:v1')).toBe('ghcr.io/a/b:v1');
  expect(withTag('a@sha256:00')).toBe('a@sha256:00');
});

test('the different names of a Docker Hub image become one', () => {
  const names = ['nginx', 'nginx:latest', 'library/nginx', 'docker.io/nginx', 'index.docker.io/library/nginx:latest'];
  expect(new Set(names.map(familiarName))).toEqual(new Set(['nginx:latest']));
  expect(familiarName('ghcr.io/library/nginx')).toBe('ghcr.io/library/nginx:latest');
});

test('a pull says every two seconds how many bytes are there, how fast they come and how long it still takes', async () => {
  const downloading = (id: string, current: number, total: number) => ({
    ...{ status: 'Downloading', id, progressDetail: { current, total } },
  });
  const messages = [
    downloading('a', 1e6, 100e6),
    downloading('b', 30e6, 50e6),
    downloading('a', 20e6, 100e6),
    { status: 'Download complete', id: 'b' },
    downloading('a', 49e6, 100e6),
    downloading('a', 49e6, 100e6),
    { status: 'Extracting', id: 'a', progressDetail: { current: 1, total: 2 } },
  ];
  const times = [0, 100, 2_000, 2_100, 4_000, 6_000, 9_000]; // of the begin, each message about a download, and the end
  const stream = async () => Readable.from(messages.map((message) => `${JSON.stringify(message)}\n`));
  const engine = { stream } as unknown as Engine;
  const reported: string[] = [];
  await pullImage(engine, 'ghcr.io/a/b:v1', {
    onProgress: (line) => reported.push(line),
    clock: { now: () => times.shift()! },
  });
  expect(reported).toEqual([
    'Pulling image ghcr.io/a/b:v1',
    'Pulling image ghcr.io/a/b:v1: 31.0 MB of 150.0 MB known so far, 15.5 MB/s, 8 s left',
    'Pulling image ghcr.io/a/b:v1: 99.0 MB of 150.0 MB known so far, 34.0 MB/s, 2 s left',
    'Pulling image ghcr.io/a/b:v1: 99.0 MB of 150.0 MB known so far, 0 B/s',
    'Pulled image ghcr.io/a/b:v1 in 9.0 s',
  ]);
});
