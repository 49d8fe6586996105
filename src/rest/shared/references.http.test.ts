import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

/** A key cannot use an endpoint, pod or template to read records that its scopes do not cover. */
let rest: RestFixture;
let registryId: string;
let otherRegistryId: string;
let volumeId: string;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 2 ** 34 }) } });
  const registry = (name: string) => send('POST', '/v2/registries', { name, username: 'u', password: 'p' });
  registryId = (await registry('mine')).json().id;
  otherRegistryId = (await registry('other')).json().id;
  const volume = { name: 'models', size: 10, dataCenter: 'EU-RO-1' };
  volumeId = (await send('POST', '/v2/network-volumes', volume)).json().id;
});
afterAll(() => rest.close());

const SECRET = { TOKEN: '{{ RUNPOD_SECRET_HUB_TOKEN }}' };
const ENDPOINT = { name: 'e', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] }, workers: { max: 0 } };
const POD = { name: 'p', image: 'podyard/echo:1', cpu: { id: 'cpu3c', vcpuCount: 2 } };

let template = 0;
const serverlessTemplate = (more: object = {}) => ({
  name: `t${template++}`,
  image: 'podyard/echo:1',
  serverless: true,
  ...more,
});

function send(method: string, path: string, body?: unknown, key = rest.alice.key) {
  return rest.call(method, path, { key, ...(body === undefined ? {} : { body }) });
}
async function made(path: string, body: object): Promise<string> {
  const response = await send('POST', path, body);
  expect(response.statusCode, response.body).toBe(201);
  return response.json().id;
}
const needs = (thing: string, scope: string) => `access denied: a reference to ${thing} needs the scope ${scope}`;

let id: string;
beforeEach(async () => {
  id = await made('/v2/serverless', ENDPOINT);
});

/** The addition, the detail of the refusal, and the scope with which it is allowed. */
const ADDITIONS = () =>
  [
    [{ env: SECRET }, needs("secret 'HUB_TOKEN'", 'account:read'), 'account:read'],
    [{ registry: registryId }, needs(`registry '${registryId}'`, 'registries:read'), `registries/${registryId}:read`],
    [
      { networkVolumes: [volumeId] },
      needs(`network volume '${volumeId}'`, 'network-volumes:read'),
      `network-volumes/${volumeId}:read`,
    ],
  ] as const;

test.each([0, 1, 2])('an update of an endpoint adds no reference the key may not read (%i)', async (which) => {
  const [change, detail, scope] = ADDITIONS()[which]!;
  const narrow = await rest.keyFor(rest.alice, `serverless/${id}:write`);
  const refused = await send('PATCH', `/v2/serverless/${id}`, change, narrow);
  expect([refused.statusCode, refused.json().detail]).toEqual([403, detail]);
  expect((await send('GET', `/v2/serverless/${id}`)).json()).toMatchObject({ env: {}, networkVolumes: [] });
  const wide = await rest.keyFor(rest.alice, `serverless/${id}:write`, scope);
  expect((await send('PATCH', `/v2/serverless/${id}`, change, wide)).statusCode).toBe(200);
  // Existing references may stay, whatever else changes.
  const kept = await send('PATCH', `/v2/serverless/${id}`, { ...change, name: 'renamed', disk: 30 }, narrow);
  expect(kept.statusCode).toBe(200);
});

test.each([0, 1, 2])('nobody makes another program read what the key may not (%i)', async (which) => {
  const [reference, detail, scope] = ADDITIONS()[which]!;
  await send('PATCH', `/v2/serverless/${id}`, { args: 'serve', ...reference });
  const narrow = await rest.keyFor(rest.alice, `serverless/${id}:write`);
  const wide = await rest.keyFor(rest.alice, `serverless/${id}:write`, scope);
  const env = { ...('env' in reference ? reference.env : {}), NODE_OPTIONS: '--import=data:text/javascript,steal()' };
  const changes = [{ image: 'podyard/evil:1' }, { args: 'sh -c env' }, { env }];
  for (const change of changes) {
    const refused = await send('PATCH', `/v2/serverless/${id}`, change, narrow);
    const text = detail.replace('a reference to', 'another image, command or env with');
    expect([refused.statusCode, refused.json().detail]).toEqual([403, text]);
    expect((await send('PATCH', `/v2/serverless/${id}`, change, wide)).statusCode).toBe(200);
    expect((await send('PATCH', `/v2/serverless/${id}`, change, narrow)).statusCode).toBe(200); // nothing changes
  }
  // Together with the reference, the program may change.
  const without = { env: {}, registry: null, networkVolumes: [], image: 'podyard/other:1' };
  expect((await send('PATCH', `/v2/serverless/${id}`, without, narrow)).statusCode).toBe(200);
});

test('neither does a template or a rollback change the program of an endpoint with a secret', async () => {
  await send('PATCH', `/v2/serverless/${id}`, { env: SECRET });
  await send('PATCH', `/v2/serverless/${id}`, { image: 'podyard/echo:2' });
  const key = await rest.keyFor(rest.alice, 'serverless:write', 'templates:read');
  const message = needs("secret 'HUB_TOKEN'", 'account:read').replace(
    'a reference to',
    'another image, command or env with',
  );
  const templateId = await made('/v2/templates', serverlessTemplate({ image: 'podyard/evil:1', env: SECRET }));
  const mutation = `mutation { updateEndpointTemplate(input: { endpointId: "${id}", templateId: "${templateId}" }) { id } }`;
  expect((await rest.graphql(mutation, { key })).errors).toMatchObject([
    { message, extensions: { code: 'FORBIDDEN' } },
  ]);
  const { releases } = (await send('GET', `/v2/serverless/${id}/releases`)).json();
  const path = `/v2/serverless/${id}/releases/${releases[1].id}/rollback`;
  const response = await send('POST', path, undefined, key);
  expect([response.statusCode, response.json().detail]).toEqual([403, message]);
});

test.each([0, 1, 2])('a create of an endpoint takes no reference the key may not read (%i)', async (which) => {
  const [change, detail, scope] = ADDITIONS()[which]!;
  const create = async (...scopes: string[]) =>
    send('POST', '/v2/serverless', { ...ENDPOINT, ...change }, await rest.keyFor(rest.alice, ...scopes));
  const refused = await create('serverless:write');
  expect([refused.statusCode, refused.json().detail]).toEqual([403, detail]);
  expect((await create('serverless:write', scope)).statusCode).toBe(201);
});

test('a scope for one registry does not cover another, and a missing one is refused like it', async () => {
  const key = await rest.keyFor(rest.alice, 'serverless:write', `registries/${registryId}:read`);
  for (const registry of [otherRegistryId, 'nosuchregistry']) {
    const response = await send('PATCH', `/v2/serverless/${id}`, { registry }, key);
    expect([response.statusCode, response.json().detail]).toEqual([
      403,
      needs(`registry '${registry}'`, 'registries:read'),
    ]);
  }
});

test('a template brings no reference that the key may not add itself', async () => {
  const templateId = await made('/v2/templates', serverlessTemplate({ env: SECRET, registry: registryId }));
  const key = await rest.keyFor(rest.alice, 'serverless:write', 'templates:read');
  const body = { name: 'e', templateId, gpu: { pools: ['ADA_24'] } };
  expect((await send('POST', '/v2/serverless', body, key)).statusCode).toBe(403);
  const mutation = `mutation { updateEndpointTemplate(input: { endpointId: "${id}", templateId: "${templateId}" }) { id } }`;
  const { errors } = await rest.graphql(mutation, { key });
  expect(errors).toMatchObject([
    { message: needs("secret 'HUB_TOKEN'", 'account:read'), extensions: { code: 'FORBIDDEN' } },
  ]);
  const all = await rest.keyFor(rest.alice, 'serverless:write', 'account:read', 'registries:read');
  expect((await send('POST', '/v2/serverless', body, all)).statusCode).toBe(201);
});

test("another user's public template does not name one's secret for a key that may not", async () => {
  const body = serverlessTemplate({ env: SECRET, public: true });
  const templateId = (await send('POST', '/v2/templates', body, rest.bob.key)).json().id;
  const key = await rest.keyFor(rest.alice, 'serverless:write');
  const response = await send('POST', '/v2/serverless', { name: 'e', templateId, gpu: { pools: ['ADA_24'] } }, key);
  expect([response.statusCode, response.json().detail]).toEqual([403, needs("secret 'HUB_TOKEN'", 'account:read')]);
});

test('a rollback brings back no reference that the key may not add', async () => {
  await send('PATCH', `/v2/serverless/${id}`, { env: SECRET });
  await send('PATCH', `/v2/serverless/${id}`, { env: {} });
  const { releases } = (await send('GET', `/v2/serverless/${id}/releases`)).json();
  const path = `/v2/serverless/${id}/releases/${releases[1].id}/rollback`;
  const key = await rest.keyFor(rest.alice, `serverless/${id}:write`);
  const response = await send('POST', path, undefined, key);
  expect([response.statusCode, response.json().detail]).toEqual([403, needs("secret 'HUB_TOKEN'", 'account:read')]);
  expect((await send('POST', path)).statusCode).toBe(200);
});

test('saveEndpoint adds no reference the key may not read', async () => {
  const key = await rest.keyFor(rest.alice, 'serverless:write');
  const input = { name: 'e', gpuIds: 'ADA_24', templateId: await made('/v2/templates', serverlessTemplate()) };
  const save = (more: object) =>
    rest.graphql('mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }', {
      key,
      variables: { input: { ...input, ...more } },
    });
  expect((await save({ networkVolumeId: volumeId })).errors?.[0]).toMatchObject({
    message: needs(`network volume '${volumeId}'`, 'network-volumes:read'),
  });
  expect((await save({})).errors).toBeUndefined();
});

test('pods add no reference the key may not read', async () => {
  const narrow = await rest.keyFor(rest.alice, 'pods:write');
  const detailOf = async (method: string, path: string, body: object) => {
    const response = await send(method, path, body, narrow);
    return [response.statusCode, response.json().detail];
  };
  const forSecret = [403, needs("secret 'HUB_TOKEN'", 'account:read')];
  const forRegistry = [403, needs(`registry '${registryId}'`, 'registries:read')];
  expect(await detailOf('POST', '/v2/pods', { ...POD, env: SECRET })).toEqual(forSecret);
  expect(await detailOf('POST', '/v2/pods', { ...POD, registry: registryId })).toEqual(forRegistry);
  const mounts = { network: [{ volumeId, path: '/models' }] };
  expect(await detailOf('POST', '/v2/pods', { ...POD, mounts })).toEqual([
    403,
    needs(`network volume '${volumeId}'`, 'network-volumes:read'),
  ]);
  const pod = await made('/v2/pods', POD);
  expect(await detailOf('PATCH', `/v2/pods/${pod}`, { env: SECRET })).toEqual(forSecret);
  expect(await detailOf('PATCH', `/v2/pods/${pod}`, { registry: registryId })).toEqual(forRegistry);
  await send('PATCH', `/v2/pods/${pod}`, { env: SECRET });
  const forProgram = [403, forSecret[1]!.toString().replace('a reference to', 'another image, command or env with')];
  expect(await detailOf('PATCH', `/v2/pods/${pod}`, { image: 'podyard/evil:1' })).toEqual(forProgram);
  expect((await send('PATCH', `/v2/pods/${pod}`, { name: 'renamed', env: SECRET }, narrow)).statusCode).toBe(200);
  const here = await made('/v2/network-volumes', { name: 'here', size: 10, dataCenter: 'LOCAL-1' });
  const withVolume = await made('/v2/pods', { ...POD, mounts: { network: [{ volumeId: here, path: '/models' }] } });
  expect(await detailOf('PATCH', `/v2/pods/${withVolume}`, { args: 'sh -c ls' })).toEqual([
    403,
    `access denied: another image, command or env with network volume '${here}' needs the scope network-volumes:read`,
  ]);
});

test('templates add no reference the key may not read', async () => {
  const narrow = await rest.keyFor(rest.alice, 'templates:write');
  const existing = await made('/v2/templates', serverlessTemplate());
  for (const change of [{ env: SECRET }, { registry: registryId }]) {
    expect((await send('POST', '/v2/templates', serverlessTemplate(change), narrow)).statusCode).toBe(403);
    expect((await send('PATCH', `/v2/templates/${existing}`, change, narrow)).statusCode).toBe(403);
    expect((await send('PATCH', `/v2/templates/${existing}`, change)).statusCode).toBe(200);
    expect((await send('PATCH', `/v2/templates/${existing}`, change, narrow)).statusCode).toBe(200);
    const other = { image: `podyard/evil:${Object.keys(change)[0]}` };
    expect((await send('PATCH', `/v2/templates/${existing}`, other, narrow)).statusCode).toBe(403);
  }
});
