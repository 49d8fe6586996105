import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFakeEngine } from '../../../../test/fake-engine.ts';
import { Engine } from '../../../engine/engine.ts';
import { EngineImages } from './engine-images.ts';

/** Stands in for an engine that has no image: it takes those that are imported, and pulls others. */
let fake: Awaited<ReturnType<typeof startFakeEngine>>;
let engine: Engine;
let created: { query: URLSearchParams; bytes: number }[];
beforeEach(async () => {
  created = [];
  fake = await startFakeEngine(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://engine');
    if (pathname.endsWith('/images/create')) created.push({ query: searchParams, bytes: await sizeOf(request) });
    response.writeHead(request.method === 'GET' ? 404 : 200, { 'content-type': 'application/json' });
    response.end('{"message": "no such image"}');
  });
  engine = new Engine(fake.socketPath);
});
afterEach(async () => {
  await engine.close();
  await fake.close();
});

async function sizeOf(request: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of request) bytes += (chunk as Buffer).length;
  return bytes;
}

test.skipIf(process.platform !== 'linux').each(['podyard/echo-js:dev', 'docker.io/podyard/web-js:v2'])(
  'the example image %s is made of this machine’s files, never pulled from a stranger’s registry',
  async (image) => {
    const lines: string[] = [];
    await new EngineImages(engine, {}).prepare(image, { onProgress: (line) => lines.push(line) });
    expect(created.map(({ query }) => [query.get('fromSrc'), query.get('fromImage')])).toEqual([['-', null]]);
    expect(created[0]!.bytes).toBeGreaterThan(1e6);
    expect(lines).toEqual([expect.stringContaining("was built from this machine's own files")]);
  },
);

test('any other image is pulled, also one whose name begins like an example’s', async () => {
  await new EngineImages(engine, {}).prepare('podyard/echo-js:mine', {});
  expect(created.map(({ query }) => query.get('fromImage'))).toEqual(['podyard/echo-js:mine']);
});
