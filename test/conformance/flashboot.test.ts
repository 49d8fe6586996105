import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

/** An unanswered take is held for this long, which fails the test. */
const HOLD_MS = 300_000;

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: HOLD_MS });
});
afterAll(() => plane?.close());

/** docs/interface/worker-api.md, "Draining and freezing" */
test('a worker to be frozen gets 204 at once and no job; after a thaw its next take gets one', async () => {
  const id = await plane.endpoint(0, {
    workers: { min: 0, max: 1 },
    flashboot: 'FLASHBOOT',
    scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeoutSeconds: 0 },
  });
  const run = async (input: unknown) => (await plane.call('POST', `${id}/run`, { body: { input } })).body.id;
  const first = await run({ n: 1 });
  const worker = await plane.worker(id);
  expect((await worker.take()).body).toMatchObject({ id: first, input: { n: 1 } });
  await worker.done(first, '{"output":1}');

  expect((await worker.take()).status).toBe(204); // it was held, and the freeze answers it
  const meanwhile = worker.take();
  const phase = async () => (await plane.sql('select phase from workers where id = $1', worker.id))[0].phase;
  await until(phase, (found) => found === 'FROZEN');
  expect((await meanwhile).status).toBe(204);
  expect((await plane.call('GET', `serverless/${id}/workers`)).body.workers).toEqual([]);
  const health = (await plane.call('GET', `${id}/health`)).body;
  expect(health.workers).toMatchObject({ idle: 0, running: 0, initializing: 0 });

  const second = await run({ n: 2 });
  let taken = await worker.take();
  for (let i = 0; taken.status === 204 && i < 100; i++) taken = await worker.take();
  expect(taken.body).toMatchObject({ id: second, input: { n: 2 } });
  await worker.done(second, '{"output":2}');
  const status = (await plane.call('GET', `${id}/status/${second}?explain=1`)).body;
  expect(status).toMatchObject({ status: 'COMPLETED', workerId: worker.id });
  const stages = status.explain.attempts[0].stages;
  expect(stages.map(({ stage }: { stage: string }) => stage)).toContain('running');
  const plain = (await plane.call('GET', `${id}/status/${second}`)).body;
  expect(plain).not.toHaveProperty('explain');
});
