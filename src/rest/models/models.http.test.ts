import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ModelHub } from '../../../test/model-hub.ts';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { newId, type UserId } from '../../core/ids.ts';
import { findPinnedModel } from '../../domain/models/pinned-model-store.ts';

let hub: ModelHub;
let rest: RestFixture;
let alice: Person;
let endpoint: string;
beforeAll(async () => {
  hub = await ModelHub.start();
  rest = await startRestApp({ hubUrl: hub.url, hasV1: true });
});
afterAll(async () => {
  await rest.close();
  await hub.close();
});

const FILES = {
  'config.json': { size: 600 },
  'model.safetensors': { size: 5_000_000_000, lfs: true },
  'model.gguf': { size: 700, lfs: true },
};
const TAG = 'a'.repeat(40);
const TOKEN = 'hf_alices_token';

beforeEach(async () => {
  hub.models.clear();
  hub.asked.length = 0;
  hub.intercept = null;
  hub.tokens = new Set([TOKEN]);
  hub.models.set('org/model', { files: FILES, task: 'text-generation', revisions: { v1: TAG } });
  hub.models.set('org/gated', { files: FILES, gatedFor: [TOKEN] });
  alice = await rest.addPerson(newId());
  endpoint = await addEndpoint(alice);
});

async function addEndpoint({ key }: Person): Promise<string> {
  const body = { name: newId(), image: 'a/b:1', gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 1 } };
  const response = await rest.call('POST', '/v2/serverless', { key, body });
  expect(response.statusCode, response.body).toBe(201);
  return response.json().id;
}
const path = () => `/v2/serverless/${endpoint}/models`;
const put = (models: unknown, key = alice.key) => rest.call('PUT', path(), { key, body: { models } });
const get = async (key = alice.key) => (await rest.call('GET', path(), { key })).json().models;
const resolve = (models: unknown, key = alice.key) =>
  rest.call('POST', '/v2/models/resolve', { key, body: { models } });
const detailOf = async (response: ReturnType<typeof put>) => {
  const { statusCode, body } = await response;
  return [statusCode, JSON.parse(body).detail];
};
const releases = async () =>
  (await rest.call('GET', `/v2/serverless/${endpoint}/releases`, { key: alice.key })).json().releases;
const addSecret = (name: string, value = TOKEN, key = alice.key) =>
  rest.call('POST', '/v2/account/secrets', { key, body: { name, value } });
const changeHub = () => hub.models.set('org/model', { files: { ...FILES, 'new.json': { size: 1 } } });

describe('the models of an endpoint', () => {
  test('are set, read and removed, each change as a release with the commit', async () => {
    expect(await get()).toEqual([]);
    const commit = hub.commitOf('org/model');
    const response = await put([{ source: 'org/model', exclude: ['*.gguf'] }, { source: 'hf:org/model@main' }]);
    expect(response.statusCode, response.body).toBe(200);
    const common = { name: 'org/model', revision: 'main', commit, tokenSecret: null, problem: null };
    expect(response.json().models).toEqual([
      {
        ...{ ...common, id: expect.stringMatching(/^[0-9a-f]{64}$/), source: 'hf:org/model@main' },
        ...{ include: [], exclude: ['*.gguf'], bytes: 5_000_000_600, files: 2 },
      },
      {
        ...{ ...common, id: expect.stringMatching(/^[0-9a-f]{64}$/), source: 'hf:org/model@main' },
        ...{ include: [], exclude: [], bytes: 5_000_001_300, files: 3 },
      },
    ]);
    expect(await get()).toEqual(response.json().models);
    const pinned = await findPinnedModel(rest.database.pool, response.json().models[0].id);
    expect(pinned?.files.map(({ path: file }) => file)).toEqual(['config.json', 'model.safetensors']);
    expect((await releases())[0]).toMatchObject({
      version: 2,
      diff: [
        {
          ...{ field: 'models', old: [] },
          new: [`org/model@${commit} (revision main, without *.gguf)`, `org/model@${commit} (revision main)`],
        },
      ],
    });
    expect((await put([])).json()).toEqual({ models: [] });
    expect(await releases()).toHaveLength(3);
  });

  test('make no release while the revision names the same commit', async () => {
    await put([{ source: 'org/model' }]);
    await put([{ source: 'org/model', include: [], exclude: [], tokenSecret: null }]);
    expect(await releases()).toHaveLength(2);
    changeHub();
    await put([{ source: 'org/model' }]);
    expect(await releases()).toHaveLength(3);
  });

  test('are not asked for again where they are named by their commit, with the same patterns and secret', async () => {
    await addSecret('hub');
    const commit = hub.commitOf('org/model');
    await put([
      { source: 'org/model', exclude: ['*.gguf'] },
      { source: 'org/gated', tokenSecret: 'hub' },
    ]);
    hub.asked.length = 0;
    const source = `hf:org/model@${commit}`;
    const gated = { source: `hf:org/gated@${hub.commitOf('org/gated')}`, tokenSecret: 'hub' };
    const kept = await put([gated, { source, exclude: ['*.gguf'] }]);
    expect(kept.json().models).toMatchObject([gated, { source, exclude: ['*.gguf'], files: 2, bytes: 5_000_000_600 }]);
    expect(hub.asked).toEqual([]);
    hub.models.get('org/model')!.revisions = { other: commit };
    await put([gated, { source }]);
    expect(hub.asked.every(({ path: asked }) => asked.includes('org/model'))).toBe(true);
    expect(hub.asked).not.toEqual([]);
    const another = await put([{ source: 'x', exclude: ['*.gguf'] }, gated]);
    expect(another.json().detail).toMatch(/^models\[0\]: /);
  });

  test('come back with a roll-back, whatever the hub has meanwhile', async () => {
    await put([{ source: 'org/model@v1', tokenSecret: null }]);
    const before = await get();
    const [{ id: first }] = await releases();
    changeHub();
    await put([{ source: 'org/model' }]);
    hub.intercept = (_, res) => !!res.writeHead(500).end();
    const url = `/v2/serverless/${endpoint}/releases/${first}/rollback`;
    const response = await rest.call('POST', url, { key: alice.key });
    expect(response.statusCode, response.body).toBe(200);
    expect(await get()).toEqual(before);
    const { rows } = await rest.database.pool.query(
      'select spec, model_references as "references" from releases r join endpoints e on e.id = r.endpoint_id where e.id = $1 order by r.version desc',
      [endpoint],
    );
    expect(rows[0]).toMatchObject({ spec: { models: [{ commit: TAG }] }, references: ['org/model:v1'] });
  });

  test('are none in a release of a version that knew no models', async () => {
    await rest.database.pool.query("update releases set spec = spec - 'models' where endpoint_id = $1", [endpoint]);
    const [{ id: first }] = await releases();
    await put([{ source: 'org/model' }]);
    const url = `/v2/serverless/${endpoint}/releases/${first}/rollback`;
    expect((await rest.call('POST', url, { key: alice.key })).statusCode).toBe(200);
    expect(await get()).toEqual([]);
  });

  test('stay through an update of other settings', async () => {
    await put([{ source: 'org/model' }]);
    const before = await get();
    await rest.call('PATCH', `/v2/serverless/${endpoint}`, { key: alice.key, body: { image: 'a/b:2' } });
    expect(await get()).toEqual(before);
  });

  test('are looked at before they are set, without a change', async () => {
    const response = await resolve([{ source: 'org/model', include: ['*.json'] }]);
    expect(response.statusCode, response.body).toBe(200);
    expect(response.json().models).toMatchObject([
      { task: 'text-generation', bytes: 600, files: 1, content: [{ path: 'config.json', bytes: 600 }] },
    ]);
    expect(await releases()).toHaveLength(1);
  });
});

describe('is refused', () => {
  test('what is not there, may not be read, or leaves nothing', async () => {
    expect(await detailOf(put([{ source: 'org/model' }, { source: 'org/none' }]))).toEqual([
      400,
      expect.stringMatching(/^models\[1\]: 127\.0\.0\.1:\d+ has no model org\/none that may be read/),
    ]);
    expect(await detailOf(put([{ source: 'org/gated' }]))).toEqual([
      400,
      expect.stringMatching(/^models\[0\]: org\/gated is gated: accept its terms at http.*org\/gated, store a token/),
    ]);
    expect(await detailOf(put([{ source: 'org/model', include: ['*.bin'] }]))).toEqual([
      400,
      'models[0]: org/model has no file that these patterns choose',
    ]);
    expect(await detailOf(put([{ source: 's3://models/a' }]))).toEqual([
      400,
      "models[0]: 's3://models/a' needs the SHA-256 of the file: add #sha256= and its 64 hexadecimal digits",
    ]);
    expect(await get()).toEqual([]);
  });

  test('a second commit of a model, as its folder names one', async () => {
    expect(await detailOf(put([{ source: 'org/model' }, { source: 'org/model@v1' }]))).toEqual([
      400,
      'models[1]: org/model is there already with another commit: an endpoint has one commit of each model',
    ]);
  });

  test('everything while the hub is away, and the endpoint keeps what it has', async () => {
    await put([{ source: 'org/model' }]);
    const before = await get();
    hub.intercept = (_, res) => !!res.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    expect(await detailOf(put([{ source: 'org/model@v1' }]))).toEqual([
      503,
      expect.stringMatching(/^models\[0\]: .* does not answer as a hub: it sent text\/html instead of JSON$/),
    ]);
    expect(await get()).toEqual(before);
  });

  test('a body that is none', async () => {
    for (const models of [
      null,
      [{}],
      [{ source: '' }],
      [{ source: 'a/b', more: 1 }],
      Array(21).fill({ source: 'a/b' }),
    ]) {
      expect((await put(models)).statusCode).toBe(422);
    }
    expect((await put([{ source: 'a/b', include: ['\0'] }])).statusCode).toBe(422);
    expect((await rest.call('PUT', path(), { key: alice.key, body: '{' })).statusCode).toBe(400);
    expect(hub.asked).toEqual([]);
  });

  test('an address that the server does not go to', async () => {
    const file = `https://169.254.169.254/m.gguf#sha256=${'0'.repeat(64)}`;
    expect(await detailOf(put([{ source: file }]))).toEqual([
      400,
      expect.stringMatching(/^models\[0\]: 169\.254\.169\.254 is a link-local address/),
    ]);
  });

  test('another user’s endpoint, as one that is not there', async () => {
    const foreign = await put([{ source: 'org/model' }], rest.bob.key);
    expect(foreign.statusCode).toBe(404);
    expect(hub.asked).toEqual([]);
    endpoint = 'nosuchendpoint';
    expect((await put([])).json().detail).toBe(foreign.json().detail);
    expect((await rest.call('GET', path(), { key: alice.key })).statusCode).toBe(404);
  });

  test('a key without the scope', async () => {
    const key = await rest.keyFor(alice, 'serverless:read');
    expect((await put([], key)).statusCode).toBe(403);
    expect((await resolve([], key)).statusCode).toBe(403);
    expect((await rest.call('GET', path(), { key })).statusCode).toBe(200);
    expect((await rest.call('PUT', path(), { body: { models: [] } })).statusCode).toBe(401);
  });
});

describe('a token in a secret', () => {
  test('opens a gated model, and appears nowhere', async () => {
    await addSecret('hub');
    const response = await put([{ source: 'org/gated', tokenSecret: 'hub' }]);
    expect(response.statusCode, response.body).toBe(200);
    expect(response.json().models[0]).toMatchObject({ tokenSecret: 'hub', problem: null });
    expect(new Set(hub.asked.map(({ token }) => token))).toEqual(new Set([TOKEN]));
    const shown = JSON.stringify([response.json(), await releases(), await get()]);
    const { rows } = await rest.database.pool.query(
      'select e.models, r.spec, r.diff, p.files from endpoints e join releases r on r.endpoint_id = e.id, pinned_models p where e.id = $1',
      [endpoint],
    );
    expect(shown + JSON.stringify(rows)).not.toContain(TOKEN);
    const secret = await rest.call('GET', '/v2/account/secrets', { key: alice.key });
    expect(secret.json().secrets).toMatchObject([{ name: 'hub', usedBy: [{ kind: 'endpoint', id: endpoint }] }]);
  });

  test('of another user is none', async () => {
    await addSecret('hub');
    const bobs = await addEndpoint(rest.bob);
    hub.asked.length = 0;
    const body = { models: [{ source: 'org/gated', tokenSecret: 'hub' }] };
    const response = await rest.call('PUT', `/v2/serverless/${bobs}/models`, { key: rest.bob.key, body });
    expect([response.statusCode, response.json().detail]).toEqual([400, "models[0]: there is no secret 'hub'"]);
    expect((await resolve(body.models, rest.bob.key)).statusCode).toBe(400);
    expect(hub.asked).toEqual([]);
  });

  test('needs a key that may read secrets, also to give the model to another image', async () => {
    await addSecret('hub');
    const key = await rest.keyFor(alice, 'serverless:write');
    const wanted = [{ source: 'org/gated', tokenSecret: 'hub' }];
    const text = "access denied: a reference to secret 'hub' needs the scope account:read";
    expect(await detailOf(put(wanted, key))).toEqual([403, text]);
    expect(hub.asked).toEqual([]);
    await put(wanted);
    const patch = await rest.call('PATCH', `/v2/serverless/${endpoint}`, { key, body: { image: 'evil/one:1' } });
    expect(patch.statusCode).toBe(403);
  });

  test('is missed where its secret was deleted', async () => {
    const { id } = (await addSecret('hub')).json();
    await put([{ source: 'org/gated', tokenSecret: 'hub' }]);
    await rest.database.pool.query('delete from secrets where id = $1', [id]);
    expect((await get())[0].problem).toBe("there is no secret 'hub', which is to hold its token");
  });
});

describe('modelReferences of GraphQL', () => {
  const save = async (input: object) =>
    rest.graphql('mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id modelReferences } }', {
      key: alice.key,
      variables: { input },
    });
  const NEW = { name: 'e', template: { imageName: 'i:1' }, gpuIds: 'ADA_24' };

  test('become models, and are echoed as they were sent', async () => {
    const modelReferences = ['https://huggingface.co/org/model:v1'];
    const { data } = await save({ ...NEW, modelReferences });
    expect(data.saveEndpoint.modelReferences).toEqual(modelReferences);
    endpoint = data.saveEndpoint.id;
    expect(await get()).toMatchObject([{ source: 'hf:org/model@v1', commit: TAG }]);
    hub.intercept = (_, res) => !!res.writeHead(500).end(); // the same again asks nobody, and keeps the commit
    expect((await save({ id: endpoint, modelReferences })).data.saveEndpoint.modelReferences).toEqual(modelReferences);
    expect(await get()).toMatchObject([{ commit: TAG }]);
    expect((await save({ id: endpoint })).data.saveEndpoint.modelReferences).toEqual([]);
    expect(await get()).toEqual([]);
  });

  test('show models that were set otherwise', async () => {
    await addSecret('hub');
    await put([{ source: 'org/model@v1' }, { source: 'org/gated', tokenSecret: 'hub' }]);
    const { data } = await rest.graphql(`{ myself { endpoint(id: "${endpoint}") { modelReferences } } }`, {
      key: alice.key,
    });
    expect(data.myself.endpoint.modelReferences).toEqual(['org/model:v1', 'org/gated']);
    await save({ id: endpoint, modelReferences: data.myself.endpoint.modelReferences });
    expect(await get()).toMatchObject([{ commit: TAG }, { tokenSecret: 'hub' }]);
  });

  test('that cannot be read or are not there are refused', async () => {
    const refusal = async (reference: string) =>
      (await save({ ...NEW, modelReferences: [reference] })).errors?.[0]?.message;
    expect(await refusal('m')).toMatch(/^modelReferences: 'm' is not a model: write hf:OWNER\/NAME/);
    expect(await refusal('org/none')).toMatch(/^modelReferences: .* has no model org\/none that may be read/);
    expect(await refusal('org/model:v9')).toBe("modelReferences: org/model has no revision 'v9'");
  });

  test('of an endpoint of before, which only kept them, are resolved with the next save', async () => {
    await rest.database.pool.query("update endpoints set model_references = '{org/model}' where id = $1", [endpoint]);
    await save({ id: endpoint, modelReferences: ['org/model'] });
    expect(await get()).toMatchObject([{ commit: hub.commitOf('org/model') }]);
  });
});

test('modelReferences of REST v1 become models too', async () => {
  const body = { modelReferences: ['org/model:v1'] };
  const response = await rest.callV1('PATCH', `/v1/endpoints/${endpoint}`, { key: alice.key, body });
  expect([response.statusCode, response.json().modelReferences]).toEqual([200, ['org/model:v1']]);
  expect(await get()).toMatchObject([{ commit: TAG }]);
  const other = await rest.callV1('PATCH', `/v1/endpoints/${endpoint}`, { key: alice.key, body: { workersMax: 2 } });
  expect(other.statusCode).toBe(200);
  expect(await get()).toMatchObject([{ commit: TAG }]);
});

test('the models of a worker are those of its release', async () => {
  await put([{ source: 'org/model' }]);
  const { insertWorkers } = await import('../../domain/workers/insert-workers.ts');
  const row = { id: newId(), endpointId: endpoint, reason: 'r', pause: null } as never;
  const [worker] = await insertWorkers(rest.database.pool, [row]);
  expect(worker?.spec.models).toMatchObject([{ name: 'org/model', commit: hub.commitOf('org/model') }]);
  expect(worker?.userId satisfies UserId | undefined).toBe(alice.userId);
});
