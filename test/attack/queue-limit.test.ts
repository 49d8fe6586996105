/** The queue limit of docs/interface/queue.md, "Order and queue limit", when everybody submits at once. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueuePlaneFixture } from '../queue-plane.ts';

/** The limit of an endpoint with `workers.max` 0. */
const LIMIT = 50;

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
});
afterAll(() => plane.close());

test.each([
  ['without a key', () => ({})],
  ['with an Idempotency-Key each', () => ({ 'idempotency-key': `${Math.random()}` })],
])(
  'of 400 jobs submitted at once %s no more than the limit are queued, and the others get a 429',
  async (_, headers) => {
    const endpoint = await plane.endpoint(0);
    const answers = await Promise.all(
      Array.from({ length: 400 }, () =>
        plane.call('POST', `${endpoint}/run`, { body: { input: 1 }, headers: headers() as Record<string, string> }),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 200).length;
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(400 - accepted);
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThanOrEqual(LIMIT + 1);
    const { body } = await plane.call('GET', `${endpoint}/health`);
    expect(body.jobs.inQueue).toBe(accepted);
  },
);

test('a job whose key was used before takes no place in the queue', async () => {
  const endpoint = await plane.endpoint(0);
  const submit = () =>
    plane.call('POST', `${endpoint}/run`, { body: { input: 1 }, headers: { 'idempotency-key': 'the same' } });
  const ids = new Set<string>();
  for (let i = 0; i < 2 * LIMIT; i++) ids.add((await submit()).body.id);
  expect(ids.size).toBe(1);
});
