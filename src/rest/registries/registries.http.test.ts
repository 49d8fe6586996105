import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const PATH = '/v2/registries';
const MINIMAL = { name: 'hub', username: 'alice-robot', password: 'hunter2-hunter2' };
const create = (body: unknown, key = rest.alice.key) => rest.call('POST', PATH, { key, body });
const createId = async (key = rest.alice.key): Promise<string> => (await create(MINIMAL, key)).json().id;
const remove = (id: string, key = rest.alice.key) => rest.call('DELETE', `${PATH}/${id}`, { key });
const createEndpoint = (registry: string, key = rest.alice.key) => {
  const body = { name: 'made', image: 'i', gpu: { pools: ['ADA_24'] }, registry };
  return rest.call('POST', '/v2/serverless', { key, body });
};

describe('a create', () => {
  test('returns 201 with id and name; responses never contain the credentials', async () => {
    const response = await create(MINIMAL);
    expect(response.statusCode).toBe(201);
    const { id } = response.json();
    expect(response.json()).toEqual({ id: expect.stringMatching(/^[a-z][a-z0-9]+$/), name: 'hub' });
    const one = await rest.call('GET', `${PATH}/${id}`, { key: rest.alice.key });
    expect(one.json()).toEqual({ id, name: 'hub' });
    const list = await rest.call('GET', PATH, { key: rest.alice.key });
    expect(list.json().registries).toContainEqual({ id, name: 'hub' });
    for (const { body } of [response, one, list]) expect(body).not.toMatch(/hunter2|alice-robot/);
  });

  test('stores user name and password encrypted under this installation’s key', async () => {
    const id = await createId();
    const { rows } = await rest.database.pool.query<{ text: string; password: Buffer }>(
      'select r::text as text, password from registries r where id = $1',
      [id],
    );
    expect(rows[0]!.text).not.toContain('hunter2');
    expect(rows[0]!.text).not.toContain(MINIMAL.username);
    expect(rows[0]!.password.includes('hunter2')).toBe(false);
    const { username, password } = MINIMAL;
    expect(JSON.parse(rest.secretBox.open(rows[0]!.password, id))).toEqual({ username, password });
  });

  test.each([
    ['name', { name: '' }, '/name: must NOT have fewer than 1 characters'],
    ['username', { username: '' }, '/username: must NOT have fewer than 1 characters'],
    ['password', { password: undefined }, "$: must have required property 'password'"],
    ['an unknown property', { host: 'x' }, "$: additional property 'host' is not allowed"],
    ['NUL', { password: 'a\0b' }, '/password: must not contain the character NUL'],
  ])('with a schema failure in %s is a 422 that names its place and shows no value', async (_, change, error) => {
    const response = await create({ ...MINIMAL, ...change });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([error]);
    expect(response.body).not.toContain('hunter2');
  });
});

describe('an endpoint', () => {
  test('uses the user’s registry, by create and by update', async () => {
    const [first, second] = [await createId(), await createId()];
    const endpoint = (await createEndpoint(first)).json();
    expect(endpoint.registry).toBe(first);
    const path = `/v2/serverless/${endpoint.id}`;
    const patch = (registry: unknown) => rest.call('PATCH', path, { key: rest.alice.key, body: { registry } });
    expect((await patch(second)).json().registry).toBe(second);
    expect((await patch(null)).json().registry).toBe(null);
  });

  test("cannot use another user's: the same 400 as for a missing one", async () => {
    const foreign = await createId(rest.bob.key);
    const response = await createEndpoint(foreign);
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe(`registry: there is no registry '${foreign}'`);
    expect((await createEndpoint('nosuch')).json().detail).toBe("registry: there is no registry 'nosuch'");
  });
});

describe('a delete', () => {
  test('returns 204 without a body, and the registry is gone', async () => {
    const id = await createId();
    const response = await remove(id);
    expect([response.statusCode, response.body]).toEqual([204, '']);
    expect((await remove(id)).statusCode).toBe(404);
  });

  test('is rejected while an endpoint uses it', async () => {
    const id = await createId();
    const endpoint = (await createEndpoint(id)).json();
    expect((await remove(id)).json()).toEqual({
      title: 'Bad Request',
      status: 400,
      detail: "The registry is in use by endpoint 'made'.",
    });
    await rest.call('DELETE', `/v2/serverless/${endpoint.id}`, { key: rest.alice.key });
    expect((await remove(id)).statusCode).toBe(204);
  });

  test('sets references of templates to null', async () => {
    const registry = await createId();
    const body = { name: 'names it', image: 'i', registry };
    const template = (await rest.call('POST', '/v2/templates', { key: rest.alice.key, body })).json();
    expect((await remove(registry)).statusCode).toBe(204);
    const now = (await rest.call('GET', `/v2/templates/${template.id}`, { key: rest.alice.key })).json();
    expect(now).toEqual({ ...template, registry: null });
  });

  test('concurrent with a use never leaves an endpoint without its registry', async () => {
    for (let i = 0; i < 10; i++) {
      const id = await createId();
      const [deleted, created] = await Promise.all([remove(id), createEndpoint(id)]);
      expect([
        [204, 400],
        [400, 201],
      ]).toContainEqual([deleted.statusCode, created.statusCode]);
    }
  });
});

test("another user's registry and a missing one are the same 404", async () => {
  const id = await createId();
  for (const method of ['GET', 'DELETE']) {
    const foreign = await rest.call(method, `${PATH}/${id}`, { key: rest.bob.key });
    const missing = await rest.call(method, `${PATH}/nosuchregistry`, { key: rest.bob.key });
    expect([method, foreign.statusCode]).toEqual([method, 404]);
    expect(foreign.rawPayload.equals(missing.rawPayload)).toBe(true);
    expect(foreign.json().detail).toBe('Registry not found');
  }
  expect((await rest.call('GET', PATH, { key: rest.bob.key })).body).not.toContain(id);
  expect((await rest.call('GET', `${PATH}/${id}`, { key: rest.alice.key })).statusCode).toBe(200);
});

describe('delegations', () => {
  const DELEGATIONS = `${PATH}/delegations`;
  const ARN = 'arn:aws:ecr:eu-central-1:123456789012:repository/team/model';
  const delegate = (body: unknown, key = rest.alice.key) => rest.call('POST', DELEGATIONS, { key, body });

  test('a create returns 201 with the parts of the ARN', async () => {
    const response = await delegate({ resource: `${ARN}:v1`, name: 'models' });
    expect(response.statusCode).toBe(201);
    const { id, createdAt, ...others } = response.json();
    expect(id).toMatch(/^[a-z][a-z0-9]+$/);
    expect(new Date(createdAt).toISOString()).toBe(createdAt);
    expect(others).toEqual({
      name: 'models',
      delegatorUserId: rest.alice.userId,
      awsUser: '123456789012',
      repository: 'team/model',
      tag: 'v1',
      awsRegion: 'eu-central-1',
      dockerRegistryUri: '123456789012.dkr.ecr.eu-central-1.amazonaws.com',
    });
  });

  test('name and tag are optional: without a tag it is latest', async () => {
    const without = (await delegate({ resource: ARN })).json();
    expect(without.name).toBe(null);
    expect(without.tag).toBe('latest');
    expect((await delegate({ resource: ARN, name: null })).json().name).toBe(null);
    const china = (await delegate({ resource: ARN.replace('aws:', 'aws-cn:') })).json();
    expect(china.dockerRegistryUri).toBe('123456789012.dkr.ecr.eu-central-1.amazonaws.com.cn');
  });

  test.each(['/v2', '/2026-08/v2'])('every record of %s has its tag', async (base) => {
    const url = `${base}/registries/delegations`;
    const made = await rest.call('POST', url, { key: rest.alice.key, body: { resource: ARN } });
    expect(made.json()).toMatchObject({ repository: 'team/model', tag: 'latest' });
    await delegate({ resource: `${ARN}:v2` });
    const { delegations } = (await rest.call('GET', url, { key: rest.alice.key })).json();
    expect(delegations.slice(-2).map(({ tag }: { tag: string }) => tag)).toEqual(['latest', 'v2']);
  });

  test.each(['', 'team/model', 'arn:aws:s3:::bucket', 'arn:aws:ecr:eu-central-1:12:repository/x', `${ARN} `])(
    'resource %j is a 422',
    async (resource) => {
      const response = await delegate({ resource });
      expect(response.statusCode).toBe(422);
      expect(response.json().errors[0]).toMatch(/^\/resource: must match pattern/);
    },
  );

  test('`delegations` is the list, never a registry; other methods on it are a 405', async () => {
    const { id } = (await delegate({ resource: ARN })).json();
    const response = await rest.call('GET', DELEGATIONS, { key: rest.alice.key });
    expect(Object.keys(response.json())).toEqual(['delegations']);
    expect(response.json().delegations.at(-1).id).toBe(id);
    const refused = await rest.call('DELETE', DELEGATIONS, { key: rest.alice.key });
    expect([refused.statusCode, refused.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
  });

  test('a delete is 204 once, then the same 404 as for another user’s', async () => {
    const { id } = (await delegate({ resource: ARN })).json();
    const path = `${DELEGATIONS}/${id}`;
    const foreign = await rest.call('DELETE', path, { key: rest.bob.key });
    const missing = await rest.call('DELETE', `${DELEGATIONS}/nosuch`, { key: rest.bob.key });
    expect([foreign.statusCode, foreign.body]).toEqual([404, missing.body]);
    expect((await rest.call('GET', DELEGATIONS, { key: rest.bob.key })).json()).toEqual({ delegations: [] });
    const response = await rest.call('DELETE', path, { key: rest.alice.key });
    expect([response.statusCode, response.body]).toEqual([204, '']);
    expect((await rest.call('DELETE', path, { key: rest.alice.key })).statusCode).toBe(404);
  });

  test('a key for one registry gives no access to delegations', async () => {
    const { id } = (await delegate({ resource: ARN })).json();
    const key = await rest.keyFor(rest.alice, `registries/${id}:write`);
    expect((await rest.call('DELETE', `${DELEGATIONS}/${id}`, { key })).statusCode).toBe(403);
    expect((await rest.call('GET', DELEGATIONS, { key })).statusCode).toBe(403);
  });
});

test('every operation needs a key with the permission', async () => {
  const id = await createId();
  const reader = await rest.keyFor(rest.alice, 'registries:read');
  const other = await rest.keyFor(rest.alice, 'templates:write');
  for (const url of [PATH, `${PATH}/${id}`, `${PATH}/delegations`]) {
    expect((await rest.call('GET', url)).statusCode).toBe(401);
    expect((await rest.call('GET', url, { key: other })).statusCode).toBe(403);
    expect((await rest.call('GET', url, { key: reader })).statusCode).toBe(200);
  }
  for (const [method, url] of [
    ['POST', PATH],
    ['DELETE', `${PATH}/${id}`],
    ['POST', `${PATH}/delegations`],
    ['DELETE', `${PATH}/delegations/x`],
  ] as const) {
    expect((await rest.call(method, url, { body: {} })).statusCode).toBe(401);
    expect((await rest.call(method, url, { key: reader, body: {} })).statusCode).toBe(403);
  }
});
