/** Guessing keys (docs/guide/security.md, "Keys"). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
let endpoint: EndpointId;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
  endpoint = await plane.endpoint(0);
});
afterAll(() => plane.close());

let guess = 0;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test.each([
  ['REST', () => 'serverless'],
  ['the queue plane', () => `${endpoint}/health`],
])('many unknown keys at once are refused by %s with 429, and valid ones are served meanwhile', async (_, path) => {
  await sleep(1_100); // the address may have guessed before
  expect((await plane.call('GET', path())).status).toBe(200);
  const answers = await Promise.all(
    Array.from({ length: 400 }, () => plane.call('GET', path(), { authorization: `Bearer pyk_guess${guess++}` })),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(400 - refused.length);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers } of refused) expect(headers.get('retry-after')).toBe('1');
  expect((await plane.call('GET', path())).status).toBe(200);
  await sleep(1_100);
  const fresh = await plane.keyFor(plane.userId, 'all');
  expect((await plane.call('GET', path(), { authorization: `Bearer ${fresh}` })).status).toBe(200);
});
