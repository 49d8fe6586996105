import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const TEMPLATE = {
  image: 'podyard/echo:1',
  args: 'serve',
  disk: 7,
  ports: ['80/http'],
  env: { KEPT: '1', REPLACED: '2' },
  serverless: true,
};
let number = 0;
const createTemplate = async (more: object = {}, key = rest.alice.key): Promise<string> => {
  const body = { ...TEMPLATE, name: `template ${number++}`, ...more };
  return (await rest.call('POST', '/v2/templates', { key, body })).json().id;
};
const createRegistry = async (key = rest.alice.key): Promise<string> =>
  (await rest.call('POST', '/v2/registries', { key, body: { name: 'r', username: 'u', password: 'p' } })).json().id;
const create = (more: object, key = rest.alice.key) =>
  rest.call('POST', '/v2/serverless', { key, body: { name: 'made', gpu: { pools: ['ADA_24'] }, ...more } });

test('container fields are copied, also into the first release', async () => {
  const registry = await createRegistry();
  const response = await create({ templateId: await createTemplate({ registry }) });
  expect(response.statusCode).toBe(201);
  const { serverless: _, ...container } = TEMPLATE;
  expect(response.json()).toMatchObject({ ...container, registry });
  const { rows } = await rest.database.pool.query('select spec from releases where endpoint_id = $1', [
    response.json().id,
  ]);
  expect(rows[0].spec).toMatchObject({ image: 'podyard/echo:1', diskGb: 7, env: TEMPLATE.env, registryId: registry });
});

test('the body’s values win; env is merged by name', async () => {
  const templateId = await createTemplate({ registry: await createRegistry() });
  const body = { image: 'other:2', args: '', disk: 1, ports: [], registry: null, env: { REPLACED: 'x', NEW: 'y' } };
  const answer = (await create({ templateId, ...body })).json();
  expect(answer).toMatchObject({ ...body, env: { KEPT: '1', REPLACED: 'x', NEW: 'y' } });
});

test('an image is required without a template', async () => {
  const response = await create({});
  expect(response.statusCode).toBe(422);
  expect(response.json().errors).toEqual(["$: must have required property 'image'"]);
});

test("another user's public template can be used, but not its registry", async () => {
  const templateId = await createTemplate({ public: true, registry: await createRegistry() });
  const response = await create({ templateId }, rest.bob.key);
  expect(response.statusCode).toBe(201);
  expect(response.json()).toMatchObject({ image: TEMPLATE.image, env: TEMPLATE.env, registry: null });
});

test("another user's private template and a missing one are the same 400", async () => {
  const templateId = await createTemplate();
  const foreign = await create({ templateId }, rest.bob.key);
  expect(foreign.statusCode).toBe(400);
  expect(foreign.json().detail).toBe(`templateId: there is no template '${templateId}'`);
  const missing = await create({ templateId: 'nosuch' }, rest.bob.key);
  expect(missing.json().detail).toBe("templateId: there is no template 'nosuch'");
});

test('a template for pods is a 400', async () => {
  const templateId = await createTemplate({ serverless: false });
  const response = await create({ templateId });
  expect(response.statusCode).toBe(400);
  expect(response.json().detail).toBe(`templateId: template '${templateId}' is not a serverless template`);
});

test('deleting the endpoint keeps the template', async () => {
  const templateId = await createTemplate();
  const endpoint = (await create({ templateId })).json();
  const path = `/v2/templates/${templateId}`;
  const before = (await rest.call('GET', path, { key: rest.alice.key })).json();
  await rest.call('DELETE', `/v2/serverless/${endpoint.id}`, { key: rest.alice.key });
  expect((await rest.call('GET', path, { key: rest.alice.key })).json()).toEqual(before);
});
