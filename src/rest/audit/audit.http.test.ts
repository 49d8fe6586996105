import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { recordEvent } from '../../domain/audit/record-event.ts';

let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  rest = await startRestApp();
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());

const ENDPOINT = { name: 'transcriber', image: 'a/b:1', gpu: { pools: ['ADA_24'] }, env: { TOKEN: 'hush-hush' } };
const create = async ({ key }: Person, body: object = ENDPOINT): Promise<string> => {
  const response = await rest.call('POST', '/v2/serverless', { key, body });
  expect(response.statusCode, response.body).toBe(201);
  return response.json().id;
};
const list = async ({ key }: Person, query = '') => {
  const response = await rest.call('GET', `/v2/audit${query}`, { key });
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
};

describe('an entry', () => {
  test('says who did what to what, from where and with which request, and what changed', async () => {
    const person = await rest.addPerson('eva');
    const id = await create(person);
    const headers = { 'user-agent': 'podyard-cli' };
    const body = { workers: { max: 7 } };
    const answer = await rest.call('PATCH', `/v2/serverless/${id}`, { key: person.key, body, headers });
    const { entries } = await list(person, `?recordId=${id}`);
    expect(entries.map((entry: { operation: string }) => entry.operation)).toEqual([
      'endpoint.update',
      'endpoint.create',
    ]);
    expect(entries[0]).toMatchObject({
      ...{ recordId: id, recordName: 'transcriber', ownerId: person.userId, ownerName: 'eva' },
      ...{ actorKind: 'key', actorId: person.userId, actorName: 'eva', keyName: 'test', interface: 'cli' },
      ...{ address: '127.0.0.1', requestId: answer.headers['x-request-id'], outcome: 'done', reason: null, repeats: 1 },
      changes: {
        workers: [
          { min: 0, max: 3 },
          { min: 0, max: 7 },
        ],
      },
    });
    expect(entries[1].changes).toMatchObject({ image: [null, 'a/b:1'], env: [null, { TOKEN: '***' }] });
  });

  test('of a change that makes a release, and of one that changes env, shows names and no values', async () => {
    const person = await rest.addPerson('finn');
    const id = await create(person);
    const env = { TOKEN: 'another', NEW: 'value' };
    await rest.call('PATCH', `/v2/serverless/${id}`, { key: person.key, body: { image: 'a/b:2', env } });
    const { entries } = await list(person, `?recordId=${id}&operation=endpoint.update`);
    expect(entries[0].changes).toEqual({
      image: ['a/b:1', 'a/b:2'],
      env: [{ TOKEN: '***' }, { TOKEN: '***', NEW: '***' }],
      version: [1, 2],
    });
  });

  test('names GraphQL, v1 and the console', async () => {
    const person = await rest.addPerson('gina');
    const env = '[{key: "A", value: "hush-hush"}]';
    await rest.graphql(
      `mutation { saveTemplate(input: {name: "t", imageName: "i", containerDiskInGb: 5, volumeInGb: 0, dockerArgs: "", env: ${env}}) { id } }`,
      { key: person.key },
    );
    await rest.callV1('POST', '/v1/templates', { key: person.key, body: { name: 'u', imageName: 'i' } });
    const headers = { 'podyard-client': 'console' };
    await rest.call('POST', '/v2/templates', { key: person.key, body: { name: 'v', image: 'i' }, headers });
    const { entries } = await list(person, '?operation=template');
    expect(entries.map((entry: { interface: string }) => entry.interface)).toEqual(['console', 'v1', 'graphql']);
  });

  test('is not written by what changes nothing, and not by a read', async () => {
    const person = await rest.addPerson('hugo');
    const id = await create(person);
    await rest.call('PATCH', `/v2/serverless/${id}`, { key: person.key, body: {} });
    await rest.call('GET', `/v2/serverless/${id}`, { key: person.key });
    expect((await list(person, '?operation=endpoint')).entries).toHaveLength(1);
  });
});

describe('a refusal', () => {
  test('is an entry of its own: of a rule, a missing record, and a key that may not', async () => {
    const person = await rest.addPerson('ida');
    const reader = await rest.keyFor(person, 'read-only');
    const body = { name: 'x', sizeGb: 1 };
    await rest.call('PATCH', '/v2/serverless/nosuch', { key: person.key, body: { name: 'x' } });
    await rest.call('DELETE', '/v2/serverless/nosuch', { key: reader });
    await rest.call('POST', '/v2/account/users', { key: person.key, body: { name: 'x' } });
    await rest.graphql('mutation { deleteEndpoint(id: "nosuch") }', { key: reader });
    await rest.call('POST', '/v2/network-volumes', {
      key: person.key,
      body: { ...body, size: 10, dataCenter: 'NOWHERE' },
    });
    await expect
      .poll(async () =>
        (await list(person, '?outcome=refused')).entries.map((entry: { reason: string }) => entry.reason).sort(),
      )
      .toEqual([
        'forbidden: DELETE /v2/serverless/:id: access denied',
        'forbidden: GraphQL: access denied',
        'forbidden: POST /v2/account/users: access denied',
        'notFound: Endpoint not found',
      ]);
  });

  test('by a limit changes nothing, and says which limit', async () => {
    const person = await rest.addPerson('jan');
    await rest.call('PATCH', `/v2/account/users/${person.userId}/limits`, { key: admin.key, body: { endpoints: 0 } });
    const response = await rest.call('POST', '/v2/serverless', { key: person.key, body: ENDPOINT });
    expect(response.statusCode).toBe(403);
    const { entries } = await list(person, '?operation=endpoint.create');
    expect(entries).toMatchObject([
      { outcome: 'refused', reason: `forbidden: ${response.json().detail}`, changes: null },
    ]);
    const limits = await list(person, '?operation=limits');
    expect(limits.entries).toMatchObject([
      { actorName: 'admin', ownerName: 'jan', changes: { limits: [null, { endpoints: 0 }] } },
    ]);
  });
});

describe('the list', () => {
  test('shows users what concerns their own records, and admins everything', async () => {
    const [one, other] = [await rest.addPerson('kim'), await rest.addPerson('leo')];
    await create(one);
    await create(other);
    const owners = (page: { entries: { ownerId: string }[] }) => new Set(page.entries.map(({ ownerId }) => ownerId));
    expect(owners(await list(one))).toEqual(new Set([one.userId]));
    for (const query of ['?userId=all', `?userId=${other.userId}`]) {
      const refused = await rest.call('GET', `/v2/audit${query}`, { key: one.key });
      expect(refused.statusCode).toBe(403);
      expect((await rest.call('GET', `/v2/audit/export${query}`, { key: one.key })).statusCode).toBe(403);
    }
    const all = owners(await list(admin, '?userId=all&limit=500'));
    expect([all.has(one.userId), all.has(other.userId)]).toEqual([true, true]);
    expect(owners(await list(admin, `?userId=${other.userId}`))).toEqual(new Set([other.userId]));
    expect((await rest.call('GET', '/v2/audit')).statusCode).toBe(401);
    const key = await rest.keyFor(one, 'pods:write');
    expect((await rest.call('GET', '/v2/audit', { key })).statusCode).toBe(403);
  });

  test('comes in pages, newest first, and the export is the same, oldest first', async () => {
    const person = await rest.addPerson('mia');
    for (let i = 0; i < 5; i++) await create(person, { ...ENDPOINT, name: `e${i}` });
    const names: string[] = [];
    for (let cursor = '', pages = 0; pages < 4; pages++) {
      const page = await list(
        person,
        `?operation=endpoint&limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      names.push(...page.entries.map((entry: { recordName: string }) => entry.recordName));
      cursor = page.nextCursor;
      if (cursor === null) break;
    }
    expect(names).toEqual(['e4', 'e3', 'e2', 'e1', 'e0']);
    const exported = await rest.call('GET', '/v2/audit/export?operation=endpoint', { key: person.key });
    expect(exported.headers['content-type']).toBe('application/x-ndjson');
    const lines = exported.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map((entry) => entry.recordName)).toEqual(names.toReversed());
  });

  test('is exported one entry a line, whatever names it holds, and without what a terminal obeys', async () => {
    const person = await rest.addPerson('lin');
    const recordName = '=cmd()\n{"seq":1}\r\u0085\u2028\u2029\u009b2J\u202e\u001b[2J 名';
    const actor = systemActor(person.userId);
    await recordEvent(rest.database.pool, actor, { operation: 'test.write', recordName });
    const { body } = await rest.call('GET', '/v2/audit/export?operation=test.write', { key: person.key });
    const lines = body.trimEnd().split(/[\n\r\u0085\u2028\u2029]/);
    expect(lines.map((line) => JSON.parse(line).recordName)).toEqual([recordName]);
    expect(lines[0]).toMatch(/^[\x20-\x7e]*$/);
  });

  test('filters by who, what, record, outcome and time', async () => {
    const person = await rest.addPerson('nora');
    const id = await create(person);
    const since = (await list(person, '?operation=endpoint')).entries[0].at;
    await rest.call('PATCH', `/v2/account/users/${person.userId}`, {
      key: admin.key,
      body: { email: 'nora@example.org' },
    });
    const operations = async (query: string) =>
      (await list(admin, `?userId=all&${query}`)).entries.map((entry: { operation: string }) => entry.operation);
    expect(await operations(`actorId=${person.userId}`)).toEqual(['endpoint.create']);
    expect(await operations(`actorId=${admin.userId}&recordId=${person.userId}`)).toEqual(['user.update']);
    expect((await operations(`actorId=${admin.userId}`)).includes('user.update')).toBe(true);
    expect(await operations(`recordId=${id}&outcome=done`)).toEqual(['endpoint.create']);
    expect(await operations(`recordId=${id}&outcome=failed`)).toEqual([]);
    expect(await operations(`recordId=${id}&since=${since}`)).toEqual(['endpoint.create']);
    expect(await operations(`recordId=${id}&until=${since}`)).toEqual([]);
    expect(await operations(`recordId=${id}&operation=end`)).toEqual([]);
  });

  test.each([
    'cursor=1',
    'cursor=2026-13-01T00:00:00.000000Z_1',
    'since=yesterday',
    'limit=0',
    'limit=501',
    'outcome=x',
  ])('refuses %s', async (query) => {
    expect([400, 422]).toContain((await rest.call('GET', `/v2/audit?${query}`, { key: admin.key })).statusCode);
  });
});
