import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import { recordDecisions } from '../../domain/decisions/record-decision.ts';

let rest: RestFixture;
let id: EndpointId;
beforeAll(async () => {
  rest = await startRestApp();
  const body = { name: 'explained', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});
afterAll(() => rest.close());

const decide = (n: number, endpointId = id) =>
  recordDecisions(rest.database.pool, [
    {
      endpointId,
      at: new Date(Date.UTC(2026, 0, 1) + n * 1000),
      wanted: n,
      reason: `reason ${n}`,
      inputs: { queued: n },
      actions: [{ kind: 'start', workerId: `w${n}` as WorkerId, cause: 'DEMAND', reason: `because of ${n}` }],
    },
  ]);
const list = (query = '', key = rest.alice.key) => rest.call('GET', `/v2/serverless/${id}/decisions${query}`, { key });

test('an unchanged endpoint has no decisions', async () => {
  expect((await list()).json()).toEqual({ decisions: [] });
});

test('decisions are listed newest first with inputs and actions; only the last 100 are kept', async () => {
  for (let n = 1; n <= 103; n++) await decide(n);
  const { decisions } = (await list('?limit=2')).json();
  expect(decisions).toEqual([
    {
      at: '2026-01-01T00:01:43.000Z',
      wanted: 103,
      reason: 'reason 103',
      inputs: { queued: 103 },
      actions: [{ kind: 'start', workerId: 'w103', cause: 'DEMAND', reason: 'because of 103' }],
    },
    expect.objectContaining({ wanted: 102 }),
  ]);
  expect((await list()).json().decisions).toHaveLength(20);
  const all = (await list('?limit=100')).json().decisions;
  expect(all).toHaveLength(100);
  expect(all.at(-1).wanted).toBe(4);
});

test('a decision about a deleted endpoint is not stored', async () => {
  await decide(1, 'nosuchendpoint' as EndpointId);
  const { rows } = await rest.database.pool.query("select from scaling_decisions where endpoint_id = 'nosuchendpoint'");
  expect(rows).toEqual([]);
});

test('a limit out of range is rejected', async () => {
  for (const limit of ['0', '101', 'many', '1e999']) expect((await list(`?limit=${limit}`)).statusCode).toBe(422);
});

test("it needs read access; another user's endpoint and a missing one are the same 404", async () => {
  expect((await rest.call('GET', `/v2/serverless/${id}/decisions`, {})).statusCode).toBe(401);
  expect((await list('', await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
  const foreign = await list('', rest.bob.key);
  const missing = await rest.call('GET', '/v2/serverless/nosuchendpoint/decisions', { key: rest.bob.key });
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(missing.body);
});
