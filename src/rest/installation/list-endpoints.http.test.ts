import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';

const PATH = '/v2/account/installation/endpoints';

let rest: RestFixture;
let admin: Person;
let team: string;
beforeAll(async () => {
  rest = await startRestApp();
  admin = await rest.addPerson('admin');
  await rest.database.pool.query("update users set role = 'ADMIN' where id = $1", [admin.userId]);
  team = (await rest.call('POST', '/v2/teams', { key: admin.key, body: { name: 'vision' } })).json().id;
  await create(rest.alice.key, 'small');
  await create(rest.bob.key, 'Large');
  await create(admin.key, 'largest', { 'podyard-team': team });
});
afterAll(() => rest.close());

async function create(key: string, name: string, headers = {}): Promise<void> {
  const body = { name, image: 'i', gpu: { pools: ['ADA_24'], count: 1 }, workers: { min: 0, max: 1 } };
  const made = await rest.call('POST', '/v2/serverless', { key, headers, body });
  expect(made.statusCode, made.body).toBe(201);
}

const list = async (query = '') => (await rest.call('GET', `${PATH}${query}`, { key: admin.key })).json();
const namesIn = ({ endpoints }: { endpoints: { name: string }[] }) => endpoints.map(({ name }) => name).sort();

test('has the endpoints of people and teams, whose they are, and how they are', async () => {
  const { endpoints, next } = await list();
  expect(next).toBe(null);
  expect(namesIn({ endpoints })).toEqual(['Large', 'largest', 'small']);
  expect(endpoints.find(({ name }: { name: string }) => name === 'largest')).toEqual({
    id: expect.any(String),
    name: 'largest',
    type: 'QUEUE_BASED',
    account: { id: team, name: 'vision', kind: 'TEAM' },
    ...{ workers: 0, state: 'SCALED_TO_ZERO', since: null, reason: null, warnings: [] },
  });
});

test('is filtered by account and by name', async () => {
  expect(namesIn(await list(`?account=${team}`))).toEqual(['largest']);
  expect(namesIn(await list(`?account=${rest.alice.userId}`))).toEqual(['small']);
  expect(namesIn(await list('?search=LARGE'))).toEqual(['Large', 'largest']);
  expect(await list(`?account=${team}&search=small`)).toEqual({ endpoints: [], next: null });
  expect(await list('?account=nobody')).toEqual({ endpoints: [], next: null });
});

test('comes in pages', async () => {
  const first = await list('?limit=2');
  const rest = await list(`?limit=2&after=${first.next}`);
  expect(first.endpoints).toHaveLength(2);
  expect(rest.next).toBe(null);
  expect(namesIn({ endpoints: [...first.endpoints, ...rest.endpoints] })).toEqual(['Large', 'largest', 'small']);
});

test('is for admins and auditors', async () => {
  expect((await rest.call('GET', PATH, { key: rest.alice.key })).statusCode).toBe(403);
  expect((await rest.call('GET', PATH, { key: await rest.keyFor(admin, 'serverless:read') })).statusCode).toBe(403);
  await rest.database.pool.query("update users set role = 'AUDITOR' where id = $1", [rest.bob.userId]);
  expect((await rest.call('GET', PATH, { key: rest.bob.key })).statusCode).toBe(200);
});
