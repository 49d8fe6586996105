import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { TemplateId } from '../../core/ids.ts';
import { OWN_CATALOG } from '../../domain/catalog/catalog.ts';
import { updateTemplateMark } from '../../domain/templates/template-store.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const PATH = '/v2/templates';
let number = 0;
const minimal = () => ({ name: `template ${number++}`, image: 'podyard/echo:1' });
const create = (body: unknown, key = rest.alice.key) => rest.call('POST', PATH, { key, body });
const createId = async (more: object = {}, key = rest.alice.key): Promise<string> =>
  (await create({ ...minimal(), ...more }, key)).json().id;
const read = async (id: string) => (await rest.call('GET', `${PATH}/${id}`, { key: rest.alice.key })).json();
const update = (id: string, body: unknown, key = rest.alice.key) => rest.call('PATCH', `${PATH}/${id}`, { key, body });
const remove = (id: string, key = rest.alice.key) => rest.call('DELETE', `${PATH}/${id}`, { key });
const createRegistry = async (key = rest.alice.key): Promise<string> =>
  (await rest.call('POST', '/v2/registries', { key, body: { name: 'r', username: 'u', password: 'p' } })).json().id;
const createEndpoint = (templateId: string, key = rest.alice.key) => {
  const body = { name: 'made', gpu: { pools: ['ADA_24'] }, templateId };
  return rest.call('POST', '/v2/serverless', { key, body });
};

describe('a create', () => {
  test('with the required fields returns 201 with the whole record and every default', async () => {
    const response = await create({ name: 'least', image: 'podyard/echo:1' });
    expect(response.statusCode).toBe(201);
    const { id, ...others } = response.json();
    expect(id).toMatch(/^[a-z][a-z0-9]+$/);
    expect(others).toEqual({
      name: 'least',
      image: 'podyard/echo:1',
      args: '',
      disk: 20,
      ports: [],
      env: {},
      registry: null,
      mounts: {},
      serverless: false,
      public: false,
      category: 'NVIDIA',
      startSsh: true,
      startJupyter: false,
      allowedCudaVersions: [],
    });
  });

  test('keeps every given field', async () => {
    const given = {
      name: 'full',
      image: 'a/b:1',
      args: 'serve',
      disk: 7,
      ports: ['80/http', '22/tcp'],
      env: { A: '1', constructor: '2' },
      registry: await createRegistry(),
      mounts: { persistent: { size: 10, path: '/workspace' } },
      serverless: false,
      public: true,
      category: 'CPU',
      startSsh: true,
      startJupyter: true,
      allowedCudaVersions: ['12.8', '13.0'],
    };
    const response = await create(given);
    expect(response.statusCode).toBe(201);
    expect(response.json()).toMatchObject(given);
    expect(await read(response.json().id)).toEqual(response.json());
  });

  test.each([
    ['name', { name: '' }, '/name: must NOT have fewer than 1 characters'],
    ['a missing image', { image: undefined }, "$: must have required property 'image'"],
    ['category', { category: 'TPU' }, '/category: must be one of CPU, NVIDIA, AMD'],
    ['public', { public: 'yes' }, '/public: must be boolean'],
    [
      'a network mount',
      { mounts: { network: [{ volumeId: 'v', path: '/v' }] } },
      "/mounts: additional property 'network' is not allowed",
    ],
    [
      'a mount of too little',
      { mounts: { persistent: { size: 9, path: '/w' } } },
      '/mounts/persistent/size: must be >= 10',
    ],
    [
      'half a mount',
      { mounts: { persistent: { size: 10 } } },
      "/mounts/persistent: must have required property 'path'",
    ],
    ['a CUDA version', { allowedCudaVersions: ['12'] }, '/allowedCudaVersions/0: must match pattern "^\\d+\\.\\d+$"'],
    ['an unknown property', { surprise: 'x' }, "$: additional property 'surprise' is not allowed"],
    ['NUL', { args: 'a\0' }, '/args: must not contain the character NUL'],
  ])('with a schema failure in %s is a 422 that names its place', async (_, change, error) => {
    const response = await create({ ...minimal(), ...change });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([error]);
  });

  test('takes ten HTTP ports and any number of others, but not eleven', async () => {
    const http = (count: number) => Array.from({ length: count }, (_, i) => `${8000 + i}/http`);
    expect((await create({ ...minimal(), ports: [...http(10), '22/tcp', '23/tcp'] })).statusCode).toBe(201);
    const response = await create({ ...minimal(), ports: http(11) });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe('ports: 11 HTTP ports are listed, but at most 10 are allowed');
  });

  test.each([
    ['a port listed twice', { ports: ['1/tcp', '1/tcp'] }, "ports: '1/tcp' is listed more than once"],
    ['an unknown registry', { registry: 'r1' }, "registry: there is no registry 'r1'"],
    [
      'a mount of a serverless template',
      { serverless: true, mounts: { persistent: { size: 10, path: '/w' } } },
      'mounts.persistent: a serverless template cannot have persistent storage (serverless is true)',
    ],
  ])('with %s is a 400', async (_, change, detail) => {
    const response = await create({ ...minimal(), ...change });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual({ title: 'Bad Request', status: 400, detail });
  });

  test("with a stranger's registry is the same 400 as with none", async () => {
    const registry = await createRegistry(rest.bob.key);
    const response = await create({ ...minimal(), registry });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe(`registry: there is no registry '${registry}'`);
  });
});

describe('a name', () => {
  test('is unique among the user’s templates only', async () => {
    const body = { name: 'taken', image: 'i' };
    expect((await create(body)).statusCode).toBe(201);
    const response = await create(body);
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe("name: there is already a template named 'taken'");
    expect((await create(body, rest.bob.key)).statusCode).toBe(201);
  });

  test('is given once to concurrent requests', async () => {
    const body = { name: 'wanted', image: 'i' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(body)));
    expect(answers.map((answer) => answer.statusCode).toSorted()).toEqual([201, ...Array(7).fill(400)]);
  });

  test('cannot be taken by an update either; keeping the own name is no conflict', async () => {
    await create({ name: 'first', image: 'i' });
    const id = await createId({ name: 'second' });
    expect((await update(id, { name: 'first' })).statusCode).toBe(400);
    expect((await update(id, { name: 'second' })).statusCode).toBe(200);
    expect((await read(id)).name).toBe('second');
  });

  test('may be as long as the body', async () => {
    expect((await create({ name: 'ü'.repeat(40_000), image: 'i' })).statusCode).toBe(201);
  });
});

describe('an update', () => {
  test('changes present fields only', async () => {
    const id = await createId({ env: { A: '1' }, ports: ['80/http'] });
    const before = await read(id);
    expect((await update(id, {})).json()).toEqual(before);
    const response = await update(id, { image: 'b', category: 'AMD', public: true });
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual({ ...before, image: 'b', category: 'AMD', public: true });
    expect(await read(id)).toEqual(response.json());
  });

  test('clears with [], {}, "" and null; env and mounts are replaced as a whole', async () => {
    const mounts = { persistent: { size: 10, path: '/w' } };
    const registry = await createRegistry();
    const id = await createId({ env: { A: '1', B: '2' }, ports: ['80/http'], args: 'x', mounts, registry });
    expect((await update(id, { env: { B: '3' } })).json().env).toEqual({ B: '3' });
    const cleared = { env: {}, ports: [], args: '', mounts: {}, registry: null };
    expect((await update(id, cleared)).json()).toMatchObject(cleared);
  });

  test.each(['name', 'image', 'env', 'ports', 'mounts', 'serverless', 'public', 'category', 'disk'])(
    'of %s to null is a 422',
    async (field) => {
      const response = await update('any', { [field]: null });
      expect(response.statusCode).toBe(422);
      expect(response.json().errors[0]).toMatch(new RegExp(`^/${field}: must be `));
    },
  );

  test('cannot combine mounts and serverless, in either order', async () => {
    const mounts = { persistent: { size: 10, path: '/w' } };
    const mounted = await createId({ mounts });
    const serverless = await createId({ serverless: true });
    expect((await update(mounted, { serverless: true })).statusCode).toBe(400);
    expect((await update(serverless, { mounts })).statusCode).toBe(400);
    expect((await update(mounted, { serverless: true, mounts: {} })).statusCode).toBe(200);
  });

  test('does not affect records created from the template', async () => {
    const id = await createId({ serverless: true, env: { A: '1' } });
    const endpoint = (await createEndpoint(id)).json();
    await update(id, { image: 'other', env: { A: '2' } });
    const now = await rest.call('GET', `/v2/serverless/${endpoint.id}`, { key: rest.alice.key });
    expect(now.json()).toEqual(endpoint);
  });
});

describe('a delete', () => {
  test('returns 204 without a body, and the template is gone', async () => {
    const id = await createId();
    const response = await remove(id);
    expect([response.statusCode, response.body]).toEqual([204, '']);
    expect((await remove(id)).statusCode).toBe(404);
  });

  test('is rejected while an endpoint created from it exists, and succeeds right after its delete', async () => {
    const id = await createId({ serverless: true });
    const endpoint = (await createEndpoint(id)).json();
    expect((await remove(id)).json()).toEqual({
      title: 'Bad Request',
      status: 400,
      detail: 'The template is in use by an endpoint.',
    });
    await rest.call('DELETE', `/v2/serverless/${endpoint.id}`, { key: rest.alice.key });
    expect((await remove(id)).statusCode).toBe(204);
  });

  test('is rejected while another user uses the public template', async () => {
    const id = await createId({ serverless: true, public: true });
    expect((await createEndpoint(id, rest.bob.key)).statusCode).toBe(201);
    expect((await remove(id)).statusCode).toBe(400);
  });

  test('concurrent with a use never leaves an endpoint without its template', async () => {
    for (let i = 0; i < 10; i++) {
      const id = await createId({ serverless: true });
      const [deleted, created] = await Promise.all([remove(id), createEndpoint(id)]);
      expect([
        [204, 400],
        [400, 201],
      ]).toContainEqual([deleted.statusCode, created.statusCode]);
    }
  });
});

test('a list has the user’s templates only, oldest first, without others’ public ones', async () => {
  expect((await rest.call('GET', PATH, { key: await strangerKey() })).json()).toEqual({ templates: [] });
  const mine = await createId({ name: 'mine' });
  const { templates } = (await rest.call('GET', PATH, { key: rest.alice.key })).json();
  expect(templates.at(-1)).toEqual(await read(mine));
});

async function strangerKey(): Promise<string> {
  await createId({ public: true });
  const { rows } = await rest.database.pool.query<{ id: never }>(
    `insert into users (id, name) values ('stranger', 'stranger') returning id`,
  );
  return rest.keyFor({ userId: rows[0]!.id, key: '' }, 'all');
}

test("another user's template and a missing one are the same 404; of a public one, all but the GET", async () => {
  for (const isPublic of [false, true]) {
    const id = await createId({ public: isPublic });
    for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
      if (isPublic && method === 'GET') continue;
      const foreign = await rest.call(method, `${PATH}/${id}`, { key: rest.bob.key, body });
      const missing = await rest.call(method, `${PATH}/nosuchtemplate`, { key: rest.bob.key, body });
      expect([method, foreign.statusCode]).toEqual([method, 404]);
      expect(foreign.rawPayload.equals(missing.rawPayload)).toBe(true);
      expect(foreign.json().detail).toBe('Template not found');
    }
    expect((await read(id)).id).toBe(id);
  }
});

test("another user's public template is read without its registry, until it is private again", async () => {
  const registry = await createRegistry();
  const id = await createId({ public: true, registry, env: { TOKEN: '{{ RUNPOD_SECRET_token }}' } });
  const seen = await rest.call('GET', `${PATH}/${id}`, { key: rest.bob.key });
  expect([seen.statusCode, seen.json()]).toEqual([200, { ...(await read(id)), registry: null }]);
  expect((await rest.call('GET', PATH, { key: rest.bob.key })).body).not.toContain(id);
  await update(id, { public: false });
  expect((await rest.call('GET', `${PATH}/${id}`, { key: rest.bob.key })).statusCode).toBe(404);
});

test('a built-in template is read by everybody, and changed by nobody', async () => {
  const path = `${PATH}/runpod-ubuntu`;
  const found = await rest.call('GET', path, { key: rest.bob.key });
  expect([found.statusCode, found.json()]).toMatchObject([200, { id: 'runpod-ubuntu', public: true, startSsh: true }]);
  expect((await rest.call('PATCH', path, { key: rest.bob.key, body: { name: 'x' } })).statusCode).toBe(404);
  expect((await rest.call('DELETE', path, { key: rest.bob.key })).statusCode).toBe(404);
});

describe('the catalog', () => {
  const catalog = async (query = '', key = rest.bob.key) => {
    const response = await rest.call('GET', `/v2/catalog/templates${query}`, { key });
    return response.json().templates.map(({ id }: { id: string }) => id) as string[];
  };
  const mark = (id: string, value: 'OFFICIAL' | 'VERIFIED' | null) =>
    updateTemplateMark(rest.database.pool, id as TemplateId, value);

  test('lists public templates of all users by source: official, verified, community', async () => {
    const [community, verified, official, own] = await Promise.all([1, 2, 3, 4].map(() => createId({ public: true })));
    await update(own!, { public: false });
    await mark(verified!, 'VERIFIED');
    await mark(official!, 'OFFICIAL');
    expect(await catalog('?source=official')).toEqual([...OWN_CATALOG.templates.map(({ id }) => id), official]);
    expect(await catalog('?source=verified')).toEqual([verified]);
    expect(await catalog('?source=community')).toContain(community);
    const all = await catalog();
    expect(all.filter((id) => [community, verified, official, own].includes(id))).toEqual([
      official,
      verified,
      community,
    ]);
    expect(await catalog('?source=community,verified')).toEqual([verified, ...(await catalog('?source=community'))]);
    expect(await catalog('', rest.alice.key)).toEqual(all);
  });

  test('lists those used last first, and at most 100', async () => {
    const { pool } = rest.database;
    const ids = await Promise.all(Array.from({ length: 101 }, () => createId({ public: true })));
    await pool.query('update templates set last_used_at = now() where id = $1', [ids[77]]);
    const listed = await catalog('?source=community');
    expect([listed.length, listed[0]]).toEqual([100, ids[77]]);
    expect((await catalog()).length).toBe(100);
    await pool.query('update templates set is_public = false where id = any($1)', [ids]);
  });

  test('shows nobody the registry of another user', async () => {
    const id = await createId({ public: true, registry: await createRegistry() });
    const { templates } = (await rest.call('GET', '/v2/catalog/templates', { key: rest.bob.key })).json();
    expect(templates.find((one: { id: string }) => one.id === id).registry).toBeNull();
    await remove(id);
  });

  test('a verified template is so no longer once its owner changes it', async () => {
    const id = await createId({ public: true });
    await mark(id, 'VERIFIED');
    await update(id, {});
    expect(await catalog('?source=verified')).toContain(id);
    await update(id, { image: 'something/else:1' });
    expect(await catalog('?source=verified')).not.toContain(id);
    expect(await catalog('?source=community')).toContain(id);
  });

  test('a private or missing template gets no mark', async () => {
    const id = await createId();
    await expect(mark(id, 'VERIFIED')).rejects.toThrow('The template is not public');
    await expect(mark('nosuchtemplate', 'VERIFIED')).rejects.toThrow('Template not found');
  });

  test('needs the permission for the catalog, and refuses unknown sources', async () => {
    const key = await rest.keyFor(rest.alice, 'templates:write');
    expect((await rest.call('GET', '/v2/catalog/templates')).statusCode).toBe(401);
    expect((await rest.call('GET', '/v2/catalog/templates', { key })).statusCode).toBe(403);
    expect((await rest.call('GET', '/v2/catalog/templates?source=mine', { key: rest.alice.key })).statusCode).toBe(422);
  });
});

test('every operation needs a key with the permission', async () => {
  const id = await createId();
  const reader = await rest.keyFor(rest.alice, 'templates:read');
  const other = await rest.keyFor(rest.alice, 'serverless:write');
  const one = await rest.keyFor(rest.alice, `templates/${id}:write`);
  const status = async (method: string, url: string, key?: string) =>
    (await rest.call(method, url, { ...(key ? { key } : {}), ...(method === 'GET' ? {} : { body: minimal() }) }))
      .statusCode;
  for (const url of [PATH, `${PATH}/${id}`]) {
    expect(await status('GET', url)).toBe(401);
    expect(await status('GET', url, other)).toBe(403);
    expect(await status('GET', url, reader)).toBe(200);
  }
  for (const [method, url] of [
    ['POST', PATH],
    ['PATCH', `${PATH}/${id}`],
    ['DELETE', `${PATH}/${id}`],
  ] as const) {
    expect(await status(method, url)).toBe(401);
    expect(await status(method, url, reader)).toBe(403);
  }
  expect(await status('POST', PATH, one)).toBe(403);
  expect(await status('PATCH', `${PATH}/${id}`, one)).toBe(200);
});
