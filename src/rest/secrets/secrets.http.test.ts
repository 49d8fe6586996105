import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const PATH = '/v2/account/secrets';
const VALUE = 'canary-5f1d0c';
let count = 0;
const freshName = () => `TOKEN_${++count}`;
const create = (body: unknown, key = rest.alice.key) => rest.call('POST', PATH, { key, body });
const createId = async (more: object = {}, key = rest.alice.key): Promise<string> =>
  (await create({ name: freshName(), value: VALUE, ...more }, key)).json().id;
const read = async (id: string) => (await rest.call('GET', `${PATH}/${id}`, { key: rest.alice.key })).json();
const update = (id: string, body: unknown, key = rest.alice.key) => rest.call('PATCH', `${PATH}/${id}`, { key, body });
const remove = (id: string, key = rest.alice.key) => rest.call('DELETE', `${PATH}/${id}`, { key });
const createEndpoint = (env: object, key = rest.alice.key) =>
  rest.call('POST', '/v2/serverless', { key, body: { name: 'hello', image: 'i', gpu: { pools: ['ADA_24'] }, env } });
const createTemplate = (env: object) =>
  rest.call('POST', '/v2/templates', { key: rest.alice.key, body: { name: 'base', image: 'i', env } });

/** Returns the stored value, decrypted. */
async function stored(id: string): Promise<string> {
  const { rows } = await rest.database.pool.query<{ value: Buffer }>('select value from secrets where id = $1', [id]);
  return rest.secretBox.open(rows[0]!.value, id);
}

describe('a create', () => {
  test('returns 201 without the value, which is stored encrypted', async () => {
    const name = freshName();
    const response = await create({ name, value: VALUE, description: 'reads models' });
    expect(response.statusCode).toBe(201);
    expect(response.body).not.toContain(VALUE);
    const { id, createdAt, ...others } = response.json();
    expect(others).toEqual({ name, description: 'reads models', usedBy: [], updatedAt: createdAt });
    expect(await read(id)).toEqual(response.json());
    expect(await stored(id)).toBe(VALUE);
    const { rows } = await rest.database.pool.query('select s::text as row from secrets s where id = $1', [id]);
    expect(rows[0].row).not.toContain(Buffer.from(VALUE).toString('hex'));
  });

  test.each(['a', '_', 'HF_TOKEN', 'team/hub.token-2', 'x'.repeat(191)])('accepts the name %s', async (name) => {
    const response = await create({ name, value: 'v' });
    expect([response.statusCode, response.json().description]).toEqual([201, null]);
  });

  test('with a taken name is a 409; the value is unchanged', async () => {
    const name = freshName();
    const id = await createId({ name });
    const response = await create({ name, value: 'another' });
    expect(response.statusCode).toBe(409);
    expect(response.json().detail).toBe(`name: there is already a secret named '${name}'`);
    expect(await stored(id)).toBe(VALUE);
  });

  test.each([
    ['a leading digit', { name: '1a' }, '/name: must match pattern'],
    ['a blank', { name: 'a b' }, '/name: must match pattern'],
    ['a brace', { name: 'a}}' }, '/name: must match pattern'],
    ['an empty name', { name: '' }, '/name: must match pattern'],
    ['192 characters', { name: 'x'.repeat(192) }, '/name: must NOT have more than 191 characters'],
    ['the reserved prefix', { name: 'RUNPOD_KEY' }, '/name: must not begin with RUNPOD'],
    ['an empty value', { value: '' }, '/value: must NOT have fewer than 1 characters'],
    ['no value', { value: undefined }, "$: must have required property 'value'"],
    ['a number as value', { value: 5 }, '/value: must be string'],
    ['NUL in the value', { value: 'a\0b' }, '/value: must not contain the character NUL'],
    ['an unknown property', { secret: VALUE }, "$: additional property 'secret' is not allowed"],
  ])('with %s is a 422 that names its place, and shows no value', async (_, change, error) => {
    const response = await create({ name: freshName(), value: VALUE, ...change });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors[0]).toContain(error);
    expect(response.body).not.toContain(VALUE);
  });

  test('without a valid body is a 400 that reveals nothing of it', async () => {
    expect((await create('')).statusCode).toBe(400);
    const response = await create(`{"name":"a","value":"${VALUE}"`);
    expect(response.statusCode).toBe(400);
    expect(response.body).not.toContain(VALUE);
  });
});

describe('an update', () => {
  test('replaces the value, the description, or both', async () => {
    const id = await createId({ description: 'first' });
    expect((await update(id, { value: 'second' })).json().description).toBe('first');
    expect(await stored(id)).toBe('second');
    expect((await update(id, { description: 'second' })).json().description).toBe('second');
    expect(await stored(id)).toBe('second');
    const both = (await update(id, { description: null, value: 'third' })).json();
    expect(both.description).toBe(null);
    expect(await stored(id)).toBe('third');
    expect(both.updatedAt > both.createdAt).toBe(true);
    expect(await read(id)).toEqual(both);
  });

  test.each([
    ['nothing', {}, '$: must NOT have fewer than 1 properties'],
    ['null for the value', { value: null }, '/value: must be string'],
    ['the name', { name: 'other' }, "$: additional property 'name' is not allowed"],
  ])('with %s is a 422', async (_, body, error) => {
    const response = await update(await createId(), body);
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([error]);
  });
});

describe('a delete', () => {
  test('is rejected with a list of uses while something refers to it, and succeeds afterwards', async () => {
    const name = freshName();
    const id = await createId({ name });
    const endpointId = (await createEndpoint({ A: `a {{ RUNPOD_SECRET_${name} }}` })).json().id;
    const templateId = (await createTemplate({ B: `{{RUNPOD_SECRET_${name}}}` })).json().id;
    const usedBy = [
      { kind: 'template', id: templateId, name: 'base' },
      { kind: 'endpoint', id: endpointId, name: 'hello' },
    ];
    expect((await read(id)).usedBy).toEqual(usedBy);
    const response = await remove(id);
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe("The secret is in use by template 'base', endpoint 'hello'.");
    expect(await stored(id)).toBe(VALUE);
    await rest.call('PATCH', `/v2/serverless/${endpointId}`, { key: rest.alice.key, body: { env: {} } });
    await rest.call('DELETE', `/v2/templates/${templateId}`, { key: rest.alice.key });
    expect((await remove(id)).statusCode).toBe(204);
    expect((await remove(id)).statusCode).toBe(404);
  });

  test("is not blocked by a longer name, other text, or another user's records", async () => {
    const name = freshName();
    const id = await createId({ name });
    await createEndpoint({ A: `{{ RUNPOD_SECRET_${name}_2 }}`, B: `RUNPOD_SECRET_${name}`, C: `{{ ${name} }}` });
    await createEndpoint({ A: `{{ RUNPOD_SECRET_${name} }}` }, rest.bob.key);
    expect((await read(id)).usedBy).toEqual([]);
    expect((await remove(id)).statusCode).toBe(204);
  });
});

test('the list has the account’s secrets only, oldest first, each with its uses', async () => {
  const carol = await rest.addPerson('carol');
  const names = ['b', 'a', 'c'];
  for (const name of names) await create({ name, value: VALUE }, carol.key);
  const { id } = (await createEndpoint({ X: '{{ RUNPOD_SECRET_a }}{{ RUNPOD_SECRET_c }}' }, carol.key)).json();
  const response = await rest.call('GET', PATH, { key: carol.key });
  const { secrets } = response.json();
  expect(secrets.map((secret: { name: string }) => secret.name)).toEqual(names);
  const use = [{ kind: 'endpoint', id, name: 'hello' }];
  expect(secrets.map((secret: { usedBy: unknown }) => secret.usedBy)).toEqual([[], use, use]);
  expect(response.body).not.toContain(VALUE);
});

test('references are stored and returned unchanged, and a diff of releases shows no value', async () => {
  const env = { TOKEN: '{{RUNPOD_SECRET_nowhere}}', PLAIN: 'x{{  RUNPOD_SECRET_b  }}y' };
  const created = (await createEndpoint(env)).json();
  expect(created.env).toEqual(env);
  const changed = { TOKEN: '{{ RUNPOD_SECRET_other }}' };
  const key = rest.alice.key;
  await rest.call('PATCH', `/v2/serverless/${created.id}`, { key, body: { env: changed } });
  expect((await rest.call('GET', `/v2/serverless/${created.id}`, { key })).json().env).toEqual(changed);
  const releases = await rest.call('GET', `/v2/serverless/${created.id}/releases`, { key });
  expect(releases.json().releases[0].diff).toEqual([
    { field: 'env', old: { TOKEN: '***', PLAIN: '***' }, new: { TOKEN: '***' } },
  ]);
});

test("another user's secret and a missing one are the same 404 in every operation", async () => {
  const id = await createId();
  for (const ask of [
    (path: string) => rest.call('GET', path, { key: rest.bob.key }),
    (path: string) => rest.call('PATCH', path, { key: rest.bob.key, body: { value: 'stolen' } }),
    (path: string) => rest.call('DELETE', path, { key: rest.bob.key }),
  ]) {
    const [foreign, missing] = [await ask(`${PATH}/${id}`), await ask(`${PATH}/nosuchsecret`)];
    expect(foreign.statusCode).toBe(404);
    expect(foreign.body).toBe(missing.body);
  }
  expect(await stored(id)).toBe(VALUE);
});

test('users can have secrets of the same name', async () => {
  const name = freshName();
  const [mine, theirs] = [await createId({ name, value: 'a' }), await createId({ name, value: 'b' }, rest.bob.key)];
  expect([await stored(mine), await stored(theirs)]).toEqual(['a', 'b']);
});

test('reading needs account:read, changing account:write, and nothing is possible without a key', async () => {
  const id = await createId();
  const reader = await rest.keyFor(rest.alice, 'account:read');
  const other = await rest.keyFor(rest.alice, 'serverless:write');
  expect((await rest.call('GET', PATH, { key: reader })).statusCode).toBe(200);
  expect((await rest.call('GET', `${PATH}/${id}`, { key: reader })).statusCode).toBe(200);
  expect((await create({ name: 'x', value: 'y' }, reader)).statusCode).toBe(403);
  expect((await update(id, { value: 'y' }, reader)).statusCode).toBe(403);
  expect((await remove(id, reader)).statusCode).toBe(403);
  expect((await rest.call('GET', PATH, { key: other })).statusCode).toBe(403);
  expect((await rest.call('GET', PATH)).statusCode).toBe(401);
  expect((await rest.call('DELETE', `${PATH}/${id}`)).statusCode).toBe(401);
});
