import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { type EndpointId, newJobId } from '../../core/ids.ts';
import { JobQueue } from '../../domain/jobs/job-queue.ts';

let rest: RestFixture;
let id: EndpointId;
beforeAll(async () => {
  rest = await startRestApp();
  const body = { name: 'listed', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  const limits = { resultRetentionMs: 60_000, syncResultRetentionMs: 60_000 };
  const queue = new JobQueue({ pool: rest.database.pool, processId: 'p', limits });
  for (let n = 0; n < 5; n++) {
    await queue.submit({
      id: newJobId('', Date.now()),
      endpointId: id,
      isLowPriority: false,
      isSync: false,
      input: '"secret"',
      extras: null,
      webhook: null,
      executionTimeoutMs: null,
      ttlMs: 60_000,
      hasOwnTtl: true,
      workerId: null,
      waiter: null,
    });
  }
});
afterAll(() => rest.close());

const list = (query = '', key = rest.alice.key, of: string = id) =>
  rest.call('GET', `/v2/serverless/${of}/requests${query}`, { key });

test('lists jobs page by page, without payloads', async () => {
  const first = await list('?limit=3&status=IN_QUEUE,FAILED&since=1970-01-01T00:00:00Z');
  expect(first.statusCode).toBe(200);
  expect(first.json().requests).toHaveLength(3);
  expect(first.body).not.toContain('secret');
  const second = await list(`?limit=3&cursor=${first.json().nextCursor}`);
  expect(second.json()).toMatchObject({ requests: [{}, {}], nextCursor: null });
  expect((await list()).json().requests).toEqual(
    [...first.json().requests, ...second.json().requests].map((job) => ({ ...job, delayTime: expect.any(Number) })),
  );
});

test('filters narrow the list', async () => {
  expect((await list('?status=COMPLETED')).json()).toEqual({ requests: [], nextCursor: null });
  expect((await list('?workerId=nobody')).json().requests).toEqual([]);
  expect((await list('?until=0000-01-01T00:00:00Z')).json().requests).toEqual([]);
});

test('a cursor that is none is a 400 that says so', async () => {
  const answer = await list('?cursor=nonsense');
  expect(answer.statusCode).toBe(400);
  expect(answer.json().detail).toBe("cursor is not the 'nextCursor' of a page");
});

test.each(['status=DONE', 'status=', 'limit=0', 'limit=101', 'since=yesterday', 'until=1'])(
  'a filter out of range is a 422: %s',
  async (query) => {
    expect((await list(`?${query}`)).statusCode).toBe(422);
  },
);

test("it needs read access; another user's endpoint and a missing one are the same 404", async () => {
  expect((await rest.call('GET', `/v2/serverless/${id}/requests`, {})).statusCode).toBe(401);
  expect((await list('', await rest.keyFor(rest.alice, 'invoke'))).statusCode).toBe(403);
  const foreign = await list('', rest.bob.key);
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe((await list('', rest.bob.key, 'nosuchendpoint')).body);
});
