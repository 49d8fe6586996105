import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { REST_REVISIONS } from '../core/rest-revisions.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

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
