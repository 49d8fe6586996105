import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { listActiveEndpoints } from '../../domain/endpoints/endpoint-demand.ts';

let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp();
  const body = { name: 'scheduled', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});
afterAll(() => rest.close());

const path = (of = id) => `/v2/serverless/${of}/schedule`;
const call = (method: string, body?: unknown, key = rest.alice.key, of = id) =>
  rest.call(method, path(of), { key, ...(body === undefined ? {} : { body }) });

const NIGHT = { days: ['SAT', 'SUN'], from: '22:00', until: '06:00', workersMin: 1 };
const ALWAYS = {
  days: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
  from: '00:00',
  until: '24:00',
  workersMin: 2,
};
const SCHEDULE = { timeZone: 'Europe/Berlin', floors: [NIGHT, ALWAYS] };
const NONE = { timeZone: 'UTC', floors: [], current: { workersMin: 0, until: null } };

test('an endpoint has no floors until a schedule is set, and none after it is deleted', async () => {
  expect((await call('GET')).json()).toEqual(NONE);
  const set = await call('PUT', SCHEDULE);
  expect(set.statusCode).toBe(200);
  expect(set.json()).toEqual({ ...SCHEDULE, current: { workersMin: 2, until: null } });
  expect((await call('GET')).json()).toEqual(set.json());
  expect((await listActiveEndpoints(rest.database.pool, '', { range: 10, limit: 10 })).ids).toEqual([id]);
  const replaced = await call('PUT', { timeZone: 'UTC', floors: [] });
  expect(replaced.json()).toEqual(NONE);
  expect((await call('DELETE')).statusCode).toBe(204);
  expect((await call('DELETE')).statusCode).toBe(204);
  expect((await call('GET')).json()).toEqual(NONE);
  expect((await listActiveEndpoints(rest.database.pool, '', { range: 10, limit: 10 })).ids).toEqual([]);
});

test('the current floor names the moment at which it changes', async () => {
  const tomorrow = new Date(Date.now() + 86_400_000);
  const day = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'][tomorrow.getUTCDay()]!;
  const floors = [{ days: [day], from: '00:00', until: '24:00', workersMin: 3 }];
  const { current } = (await call('PUT', { timeZone: 'UTC', floors })).json();
  expect(current).toEqual({ workersMin: 0, until: `${tomorrow.toISOString().slice(0, 10)}T00:00:00.000Z` });
});

test.each([
  [
    { ...SCHEDULE, timeZone: 'Mars/Olympus' },
    "timeZone: 'Mars/Olympus' is not an IANA time zone, such as Europe/Berlin or UTC",
  ],
  [{ ...SCHEDULE, timeZone: '+01:00' }, "timeZone: '+01:00' is not an IANA time zone, such as Europe/Berlin or UTC"],
  [
    { ...SCHEDULE, floors: [ALWAYS, { ...NIGHT, until: '22:00' }] },
    "floors[1]: 'from' and 'until' are both 22:00; for a whole day use 00:00 and 24:00",
  ],
])('a rule that is broken is a 400 that says which', async (body, detail) => {
  const answer = await call('PUT', body);
  expect([answer.statusCode, answer.json().detail]).toEqual([400, detail]);
});

test.each([
  {},
  { timeZone: 'UTC' },
  { ...SCHEDULE, more: 1 },
  { ...SCHEDULE, timeZone: '' },
  { ...SCHEDULE, floors: [{ ...NIGHT, days: [] }] },
  { ...SCHEDULE, floors: [{ ...NIGHT, days: ['MON', 'MON'] }] },
  { ...SCHEDULE, floors: [{ ...NIGHT, days: ['Monday'] }] },
  { ...SCHEDULE, floors: [{ ...NIGHT, from: '24:00' }] },
  { ...SCHEDULE, floors: [{ ...NIGHT, until: '6:00' }] },
  { ...SCHEDULE, floors: [{ ...NIGHT, workersMin: -1 }] },
  { ...SCHEDULE, floors: [{ ...NIGHT, workersMin: 1.5 }] },
  { ...SCHEDULE, floors: Array.from({ length: 51 }, () => NIGHT) },
])('a body of another shape is a 422: %j', async (body) => {
  expect((await call('PUT', body)).statusCode).toBe(422);
});

test("it needs access to the endpoint; another user's and a missing one are the same 404", async () => {
  expect((await rest.call('GET', path(), {})).statusCode).toBe(401);
  const reader = await rest.keyFor(rest.alice, 'serverless:read');
  expect((await call('GET', undefined, reader)).statusCode).toBe(200);
  expect((await call('PUT', SCHEDULE, reader)).statusCode).toBe(403);
  expect((await call('DELETE', undefined, reader)).statusCode).toBe(403);
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', SCHEDULE],
    ['DELETE', undefined],
  ] as const) {
    const foreign = await call(method, body, rest.bob.key);
    expect(foreign.statusCode).toBe(404);
    expect(foreign.body).toBe((await call(method, body, rest.bob.key, 'nosuchendpoint')).body);
  }
});

test('a deleted endpoint takes its schedule with it', async () => {
  await call('PUT', SCHEDULE);
  expect((await rest.call('DELETE', `/v2/serverless/${id}`, { key: rest.alice.key })).statusCode).toBe(204);
  expect((await rest.database.pool.query('select from endpoint_schedules')).rows).toEqual([]);
});
