import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';

/** docs/interface/graphql.md, "Secrets". */
let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());
beforeEach(async () => {
  await rest.database.pool.query('delete from templates; delete from secrets');
});

const ask = (query: string, variables: object = {}, key = rest.alice.key) => rest.graphql(query, { key, variables });
const create = async (name: string, more: object = {}) =>
  (
    await ask(
      `mutation ($input: SecretCreateInput!) { secretCreate(input: $input) { id name description createdAt updatedAt } }`,
      { input: { name, value: 'canary', ...more } },
    )
  ).data.secretCreate;
const codes = ({ errors }: Awaited<ReturnType<typeof ask>>) => errors?.map(({ extensions }) => extensions.code);

test('a secret is created with or without a description, and listed without its value', async () => {
  const one = await create('token', { description: 'for the hub' });
  expect(one).toEqual({
    id: expect.stringMatching(/^[a-z0-9]+$/),
    name: 'token',
    description: 'for the hub',
    createdAt: expect.stringMatching(/Z$/),
    updatedAt: expect.stringMatching(/Z$/),
  });
  const { id } = await create('other');
  const answer = await ask('{ myself { secrets { id name description usedBy { kind id name } } } }');
  expect(answer.data.myself.secrets).toEqual([
    { id: one.id, name: 'token', description: 'for the hub', usedBy: [] },
    { id, name: 'other', description: null, usedBy: [] },
  ]);
  expect(JSON.stringify(answer)).not.toContain('canary');
  await rest.graphql('{ myself { secrets { value } } }', { key: rest.alice.key, status: 400 });
});

test('it is the secret that REST shows', async () => {
  const { id } = await create('token');
  const response = await rest.call('GET', `/v2/account/secrets/${id}`, { key: rest.alice.key });
  expect(response.json()).toMatchObject({ id, name: 'token' });
});

test.each([
  ['a name that is taken', { name: 'token' }, 'CONFLICT'],
  ['a name that no reference can hold', { name: 'a b' }, 'BAD_USER_INPUT'],
  ['a name that begins with RUNPOD', { name: 'RUNPOD_X' }, 'BAD_USER_INPUT'],
  ['a name of more than 191 characters', { name: 'a'.repeat(192) }, 'BAD_USER_INPUT'],
])('%s is refused', async (_, input, code) => {
  await create('token');
  const answer = await ask('mutation ($i: SecretCreateInput!) { secretCreate(input: $i) { id } }', {
    i: { value: 'canary', ...input },
  });
  expect(answer.data.secretCreate).toBeNull();
  expect(codes(answer)).toEqual([code]);
  expect(JSON.stringify(answer)).not.toContain('canary');
});

test('an update changes the given fields; null clears the description', async () => {
  const { id } = await create('token', { description: 'old' });
  const update = (input: object) =>
    ask('mutation ($i: SecretUpdateInput!) { secretUpdate(input: $i) { name description } }', { i: { id, ...input } });
  expect((await update({ value: 'new' })).data.secretUpdate).toEqual({ name: 'token', description: 'old' });
  expect((await update({ description: null })).data.secretUpdate.description).toBeNull();
  expect(codes(await update({ id: 'missing' }))).toEqual(['NOT_FOUND']);
});

test('a secret in use is deleted only with force; the error lists its uses', async () => {
  const { id } = await create('token');
  const { data } = await ask(
    `mutation { saveTemplate(input: {name: "t", imageName: "i", containerDiskInGb: 1, volumeInGb: 0,
       env: [{key: "A", value: "Bearer {{ RUNPOD_SECRET_token }}"}]}) { id } }`,
  );
  const list = await ask('{ myself { secrets { usedBy { kind id name } } } }');
  expect(list.data.myself.secrets[0].usedBy).toEqual([{ kind: 'template', id: data.saveTemplate.id, name: 't' }]);
  const refused = await ask(`mutation { secretDelete(id: "${id}") }`);
  expect(refused.errors).toMatchObject([
    { message: expect.stringContaining("template 't'"), extensions: { code: 'CONFLICT' } },
  ]);
  expect(await ask(`mutation { secretDelete(id: "${id}", force: true) }`)).toEqual({ data: { secretDelete: null } });
  expect(codes(await ask(`mutation { secretDelete(id: "${id}") }`))).toEqual(['NOT_FOUND']);
});
