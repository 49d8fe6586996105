/**
 * Bodies that cost far more to parse than to send are refused before they are parsed, and nobody else has to wait:
 * docs/interface/queue.md, "Submitting", and docs/interface/worker-api.md, "Results" and "Chunks".
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

/** Parsing one of these bodies would stall the server for one to eight seconds; rejecting it takes some time on a busy machine. */
const MAX_STALL_MS = 500;
const TRIES = 5;

const DEEP = '['.repeat(9_800_000);
const MANY_KEYS = `{${Array.from({ length: 500_000 }, (_, i) => `"${i}":0`).join(',')}}`;
const MANY_ARRAYS = `[${'[],'.repeat(3_000_000)}0]`;

let plane: QueuePlaneFixture;
let endpoint: EndpointId;
let worker: FakeWorker;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
  endpoint = await plane.endpoint(1);
  worker = await plane.worker(endpoint);
});
afterAll(() => plane.close());

/** The longest time that the event loop was blocked meanwhile: the least of a few tries, because the machine has stalls of its own. */
async function stallMs(work: () => Promise<unknown>): Promise<number> {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < TRIES && leastMs >= MAX_STALL_MS; i++) {
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    await work();
    delay.disable();
    leastMs = Math.min(leastMs, delay.max / 1e6);
  }
  return leastMs;
}

describe.each([
  ['ten million brackets', DEEP, /nested more than 128 levels deep/],
  ['half a million keys', MANY_KEYS, /more than 250000 object members/],
  ['three million arrays', MANY_ARRAYS, /more than 250000 objects and arrays/],
])('%s', (_, value, fault) => {
  test('as a job are rejected with 400 and the limit they exceed', async () => {
    let answer: Awaited<ReturnType<QueuePlaneFixture['call']>>;
    const stall = await stallMs(async () => {
      answer = await plane.call('POST', `${endpoint}/run`, { body: `{"input":${value}}` });
    });
    expect(answer!).toMatchObject({ status: 400, body: { detail: expect.stringMatching(fault) } });
    expect(stall).toBeLessThan(MAX_STALL_MS);
  });

  test('as a result fail the job with the same error', async () => {
    let id = '';
    const stall = await stallMs(async () => {
      id = await plane.run(endpoint, {});
      expect((await worker.take()).body.id).toBe(id);
      expect((await worker.done(id, `{"output":${value}}`)).status).toBe(400);
    });
    expect(await plane.status(endpoint, id)).toMatchObject({ status: 'FAILED', error: expect.stringMatching(fault) });
    expect(stall).toBeLessThan(MAX_STALL_MS);
  });

  test('as a chunk of a stream are rejected, and the job continues', async () => {
    const id = await plane.run(endpoint, {});
    expect((await worker.take()).body.id).toBe(id);
    expect((await worker.chunk(id, value)).status).toBe(400);
    expect((await worker.done(id, '{"output":1}')).status).toBe(200);
    expect(await plane.status(endpoint, id)).toMatchObject({ status: 'COMPLETED', output: 1 });
  });
});

test('a large result of an unknown job is rejected before it is read', async () => {
  const stall = await stallMs(async () => {
    const answer = await worker.done('00000000-0000-7000-8000-000000000000-u1', `{"output":${MANY_KEYS}}`);
    expect(answer.status).toBe(404);
  });
  expect(stall).toBeLessThan(MAX_STALL_MS);
});
