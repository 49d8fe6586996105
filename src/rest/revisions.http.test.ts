import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { systemClock } from '../core/clock.ts';
import { REST_REVISIONS, type RestRevision } from '../core/rest-revisions.ts';
import { createApiKey } from '../domain/access/create-api-key.ts';
import { change } from '../domain/change.ts';

let rest: RestFixture;
let counted = 0;
beforeAll(async () => {
  rest = await startRestApp({
    rateLimiter: {
      check: async () => {
        counted += 1;
        return { headers: { ratelimit: '"minute";r=59;t=12' }, exceeded: null };
      },
    },
  });
});
afterAll(() => rest.close());

async function keyWith(restRevision: RestRevision | null, person = rest.alice): Promise<string> {
  const input = { userId: person.userId, name: 'x', scopes: [{ kind: 'all' } as const], expiresAt: null, restRevision };
  return (await change({ pool: rest.database.pool, bus: rest.bus, clock: systemClock }, null, createApiKey, input))
    .secret;
}

const BODIES = {
  '2026-07': { name: 'x', image: 'i', gpu: { pools: ['ADA_24'] }, type: 'QUEUE_BASED' },
  '2026-08': {
    name: 'x',
    image: 'i',
    gpu: { pools: ['ADA_24'] },
    type: 'QUEUE',
    scaling: { type: 'QUEUE_DELAY', queueDelay: 1 },
  },
};
const TYPE = { '2026-07': 'QUEUE_BASED', '2026-08': 'QUEUE' };

test.each(REST_REVISIONS)('/%s/v2 serves the same records, and its own description', async (revision) => {
  const body = { name: revision, username: 'u', password: 'p' };
  const { id } = (await rest.call('POST', '/v2/registries', { key: rest.alice.key, body })).json();
  const there = await rest.call('GET', `/${revision}/v2/registries/${id}`, { key: rest.alice.key });
  const plain = await rest.call('GET', `/v2/registries/${id}`, { key: rest.alice.key });
  expect(there.statusCode).toBe(200);
  expect(there.json()).toEqual(plain.json());
  const { info, servers } = (await rest.call('GET', `/${revision}/v2/openapi.json`)).json();
  expect(info).toMatchObject({ version: '2.0.0', description: expect.stringContaining(revision) });
  expect(servers).toEqual([{ url: `http://podyard.test:8080/${revision}` }]);
});

test('a revision that does not exist is a 404 that names the ones there are, with or without a key', async () => {
  for (const key of [rest.alice.key, undefined]) {
    for (const method of ['GET', 'POST']) {
      const answer = await rest.call(method, '/2025-01/v2/pods', key === undefined ? {} : { key });
      expect(answer.json()).toEqual({
        title: 'Not Found',
        status: 404,
        detail: "Path not found: there is no revision '2025-01' of the API, only '2026-07' and '2026-08'",
      });
    }
  }
  const known = await rest.call('GET', '/2026-08/v2/nowhere', { key: rest.alice.key });
  expect(known.json().detail).toBe('Path not found');
});

test.each(REST_REVISIONS)(
  'plain /v2 speaks %s to a key that asks for it: bodies, answers, errors',
  async (revision) => {
    const key = await keyWith(revision);
    counted = 0;
    const created = await rest.call('POST', '/v2/serverless', { key, revision, body: BODIES[revision] });
    expect([created.statusCode, created.json().type]).toEqual([201, TYPE[revision]]);
    expect(created.json().requestUrls.run).toBe(`http://podyard.test:8080/v2/${created.json().id}/run`);
    expect(created.headers.ratelimit).toBe('"minute";r=59;t=12');
    expect(counted).toBe(1);
    const missing = await rest.call('GET', '/v2/serverless/nosuch/builds', { key, revision });
    expect(missing.json().detail).toBe(revision === '2026-08' ? 'Endpoint not found' : 'Path not found');
    const wrong = await rest.call('PUT', '/v2/serverless', { key, revision });
    expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    const malformed = await rest.call('POST', '/v2/serverless', { key, revision, body: '{' });
    expect(malformed.statusCode).toBe(400);
  },
);

test('the path wins over the header, and the header over the key', async () => {
  const { id } = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body: BODIES['2026-07'] })).json();
  const key = await keyWith('2026-08');
  const typeAt = async (path: string, revision: RestRevision, header?: string) => {
    const headers: Record<string, string> = header === undefined ? {} : { 'podyard-revision': header };
    return (await rest.call('GET', `${path}/serverless/${id}`, { key, revision, headers })).json().type;
  };
  expect(await typeAt('/v2', '2026-08')).toBe('QUEUE');
  expect(await typeAt('/v2', '2026-08', '2025-01')).toBe('QUEUE');
  expect(await typeAt('/v2', '2026-07', '2026-07')).toBe('QUEUE_BASED');
  expect(await typeAt('/2026-07/v2', '2026-07')).toBe('QUEUE_BASED');
  expect(await typeAt('/2026-07/v2', '2026-07', '2026-08')).toBe('QUEUE_BASED');
});

test('a server set to the newer revision speaks it to keys without one, and the older one on request', async () => {
  const newer = await startRestApp({ restRevision: '2026-08' });
  const { key } = newer.alice;
  const { id } = (await newer.call('POST', '/v2/serverless', { key, body: BODIES['2026-08'] })).json();
  expect((await newer.call('GET', `/v2/serverless/${id}`, { key })).json().type).toBe('QUEUE');
  const headers = { 'podyard-revision': '2026-07' };
  const older = await newer.call('GET', `/v2/serverless/${id}`, { key, headers, revision: '2026-07' });
  expect(older.json().type).toBe('QUEUE_BASED');
  expect((await newer.call('GET', '/v2/openapi.json')).json().info.description).toContain('2026-08');
  await newer.close();
});

test('a key of the other revision is refused like any other: revoked, without permission', async () => {
  const key = await keyWith('2026-08', rest.bob);
  const { apiKeys } = (await rest.call('GET', '/v2/account/api-keys', { key, revision: '2026-08' })).json();
  const { id } = apiKeys.find((one: { restRevision: string }) => one.restRevision === '2026-08');
  await rest.call('DELETE', `/v2/account/api-keys/${id}`, { key: rest.bob.key });
  expect((await rest.call('GET', '/v2/pods', { key, revision: '2026-08' })).statusCode).toBe(401);
});

test('a key is created with a revision, and listed with it; another name is a 422', async () => {
  const make = (restRevision: unknown) =>
    rest.call('POST', '/v2/account/api-keys', {
      key: rest.alice.key,
      body: { name: 'k', scopes: ['all'], restRevision },
    });
  const { secret, ...made } = (await make('2026-08')).json();
  expect(made.restRevision).toBe('2026-08');
  const { apiKeys } = (await rest.call('GET', '/v2/account/api-keys', { key: secret, revision: '2026-08' })).json();
  const lastUsedAt = expect.toBeOneOf([null, expect.any(String)]); // this very request, once it is written down
  expect(apiKeys).toContainEqual({ ...made, lastUsedAt });
  expect((await make(null)).json().restRevision).toBeNull();
  expect((await make(undefined)).json().restRevision).toBeNull();
  expect((await make('2025-01')).statusCode).toBe(422);
});

test('a request that is handed over is counted and logged once', async () => {
  const key = await keyWith('2026-08');
  const page = async () =>
    (await rest.call('GET', '/metrics', { headers: { authorization: 'Bearer scrape-me-if-you-can' } })).body;
  const count = async () =>
    /podyard_api_requests_total\{[^}]*GET \/v2\/registries"[^}]*\} (\d+)/.exec(await page())?.[1];
  const before = Number((await count()) ?? 0);
  await rest.call('GET', '/v2/registries', { key, revision: '2026-08' });
  expect(Number(await count())).toBe(before + 1);
});
