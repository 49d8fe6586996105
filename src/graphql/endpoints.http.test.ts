import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';

/** docs/interface/graphql.md, "Endpoints". */
let rest: RestFixture;
let templateId: string;
let volumes: string[];

beforeAll(async () => {
  rest = await startRestApp();
  volumes = [];
  for (const name of ['models', 'more']) {
    const body = { name, size: 10, dataCenter: 'EU-RO-1' };
    volumes.push((await rest.call('POST', '/v2/network-volumes', { key: rest.alice.key, body })).json().id);
  }
});
afterAll(() => rest.close());
beforeEach(async () => {
  await rest.database.pool.query('delete from endpoints; delete from templates');
  templateId = await makeTemplate('t');
});

const ALL = `id name aiKey userId type gpuIds gpuCount instanceIds workersMin workersMax workersStandby workersPFBTarget idleTimeout
  scalerType scalerValue locations networkVolumeId networkVolumeIds { networkVolumeId dataCenterId } networkVolume { id dataCenterId }
  templateId template { id name imageName isServerless } allowedCudaVersions minCudaVersion executionTimeoutMs flashBootType
  env { key value } version createdAt pods { id desiredStatus }`;

const ask = (query: string, variables: object = {}, key = rest.alice.key) => rest.graphql(query, { key, variables });
const trySave = (input: object, key = rest.alice.key) =>
  ask(`mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { ${ALL} } }`, { input }, key);
async function save(input: object) {
  const { data, errors } = await trySave(input);
  expect(errors).toBeUndefined();
  return data.saveEndpoint;
}
async function makeTemplate(name: string, more: object = {}) {
  const input = { name, imageName: `${name}:1`, containerDiskInGb: 5, volumeInGb: 0, isServerless: true, ...more };
  const { data } = await ask('mutation ($i: SaveTemplateInput) { saveTemplate(input: $i) { id } }', { i: input });
  return data.saveTemplate.id;
}
const viaRest = async (id: string) => (await rest.call('GET', `/v2/serverless/${id}`, { key: rest.alice.key })).json();
const releases = async (id: string) =>
  (await rest.call('GET', `/v2/serverless/${id}/releases`, { key: rest.alice.key })).json().endpointVersion;

describe('saveEndpoint creates', () => {
  test('from a template and pools, with GraphQL’s defaults', async () => {
    const { id, createdAt, ...fields } = await save({ name: 'e', templateId, gpuIds: 'ADA_24,AMPERE_24' });
    expect(Date.parse(createdAt)).toBeGreaterThan(0);
    expect(fields).toEqual({
      name: 'e',
      aiKey: null,
      userId: rest.alice.userId,
      type: 'QB',
      gpuIds: 'ADA_24,AMPERE_24',
      gpuCount: 1,
      instanceIds: [],
      workersMin: 0,
      workersMax: 3,
      workersStandby: 0,
      workersPFBTarget: 0,
      idleTimeout: 10,
      scalerType: 'QUEUE_DELAY',
      scalerValue: 4,
      locations: '',
      networkVolumeId: null,
      networkVolumeIds: [],
      networkVolume: null,
      templateId,
      template: { id: templateId, name: 't', imageName: 't:1', isServerless: true },
      allowedCudaVersions: '',
      minCudaVersion: '',
      executionTimeoutMs: 300_000,
      flashBootType: 'OFF',
      env: [],
      version: 1,
      pods: [],
    });
    expect(await viaRest(id)).toMatchObject({ image: 't:1', disk: 5, scaling: { idleTimeout: 10, value: 4 } });
  });

  test('with everything', async () => {
    const input = {
      name: 'full',
      templateId,
      gpuIds: 'AMPERE_24,-NVIDIA L4',
      gpuCount: 2,
      workersMin: 1,
      workersMax: 5,
      idleTimeout: 60,
      scalerType: 'REQUEST_COUNT',
      scalerValue: 2,
      locations: 'EU-RO-1, US-TX-1',
      networkVolumeId: volumes[0],
      networkVolumeIds: volumes.map((networkVolumeId) => ({ networkVolumeId })),
      executionTimeoutMs: 90_000,
      allowedCudaVersions: '12.4,12.5',
      minCudaVersion: '12.4',
      flashBootType: 'PRIORITY_FLASHBOOT',
      type: 'LB',
    };
    const endpoint = await save(input);
    expect(endpoint).toMatchObject({
      ...input,
      locations: 'EU-RO-1,US-TX-1',
      networkVolumeIds: volumes.map((networkVolumeId) => ({ networkVolumeId, dataCenterId: 'EU-RO-1' })),
      networkVolume: { id: volumes[0], dataCenterId: 'EU-RO-1' },
    });
    expect(await viaRest(endpoint.id)).toMatchObject({
      type: 'LOAD_BALANCING',
      gpu: { pools: ['AMPERE_24'], count: 2 },
      workers: { min: 1, max: 5 },
      dataCenterIds: ['EU-RO-1', 'US-TX-1'],
      networkVolumes: volumes,
      timeout: 90_000,
      flashboot: 'PRIORITY_FLASHBOOT',
    });
  });

  test('with an inline template, which is deleted with the endpoint', async () => {
    const template = {
      imageName: 'inline:1',
      env: [{ key: 'A', value: '1' }],
      dockerArgs: 'run',
      containerDiskInGb: 7,
    };
    const endpoint = await save({ name: 'e', template, gpuIds: 'ADA_24' });
    expect(endpoint.template).toMatchObject({
      name: `e__template__${endpoint.id}`,
      imageName: 'inline:1',
      isServerless: true,
    });
    expect(await viaRest(endpoint.id)).toMatchObject({ image: 'inline:1', env: { A: '1' }, args: 'run', disk: 7 });
    const again = await save({ id: endpoint.id, template: { ...template, imageName: 'inline:2' } });
    expect(again.template.name).toBe(endpoint.template.name);
    expect(again).toMatchObject({ templateId: endpoint.templateId, template: { imageName: 'inline:2' }, version: 2 });
    expect(await ask(`mutation { deleteEndpoint(id: "${endpoint.id}") }`)).toEqual({ data: { deleteEndpoint: null } });
    const { data } = await ask('{ podTemplates { id } }');
    expect(data.podTemplates).toEqual([{ id: templateId }]);
  });

  test.each([
    ['no template', { templateId: '' }, 'templateId: must be set, unless there is a template'],
    ['no name', { name: '' }, 'name: must not be empty'],
    ['no pool', { gpuIds: '-NVIDIA L4' }, 'gpuIds: must name a GPU pool'],
    ['an unknown pool', { gpuIds: 'NOPE' }, "gpu.pools: there is no GPU pool 'NOPE'"],
    ['an unknown template', { templateId: 'nope' }, "templateId: there is no template 'nope'"],
    ['an unknown data center', { locations: 'XX-1' }, "dataCenterIds: there is no data center 'XX-1'"],
    ['an unknown volume', { networkVolumeId: 'nope' }, "networkVolumes: there is no network volume 'nope'"],
    ['more workers at least than at most', { workersMin: 4 }, /^workers.min \(4\) must not be greater/],
    ['a negative number', { workersMin: -1 }, 'workersMin: must be at least 0'],
    ['no GPU', { gpuCount: 0 }, 'gpuCount: must be at least 1'],
    ['a scaler value of 0', { scalerValue: 0 }, 'scalerValue: must be at least 1'],
    ['a CUDA version that is none', { minCudaVersion: 'new' }, "minCudaVersion: 'new' is not a version like 12.8"],
    ['two least CUDA versions', { minCudaVersion: '12.4,12.8' }, 'must be a single version like 12.8'],
    ['a wrong item', { allowedCudaVersions: '12.4,cu128' }, "allowedCudaVersions: 'cu128' is not a version like 12.8"],
    ['both GPUs and CPUs', { instanceIds: ['cpu3c-2-4'] }, 'gpu, cpu: exactly one of them is required'],
    ['a size that is none', { gpuIds: '', instanceIds: ['big'] }, "instanceIds: 'big' is not flavor, vCPUs and GB"],
    ['an unknown flavor', { gpuIds: '', instanceIds: ['cpu9-2-4'] }, "cpu[0].id: there is no CPU flavor 'cpu9'"],
    ['an excluded type of another pool', { gpuIds: 'ADA_24,-NVIDIA L4' }, "'NVIDIA L4': it is in none of the pools"],
  ])('nothing with %s', async (_, change, message) => {
    const { errors } = await trySave({ name: 'e', templateId, gpuIds: 'ADA_24', ...change });
    expect(errors![0]!.extensions.code).toBe('BAD_USER_INPUT');
    expect(errors![0]!.message).toMatch(message);
  });
});

describe('saveEndpoint with an id', () => {
  test('replaces the endpoint: omitted fields return to their defaults, except name, pools and template', async () => {
    const { id } = await save({
      name: 'e',
      templateId,
      gpuIds: 'AMPERE_24,-NVIDIA L4',
      workersMax: 9,
      idleTimeout: 99,
      scalerValue: 9,
      flashBootType: 'FLASHBOOT',
      locations: 'EU-RO-1',
      minCudaVersion: '12.4',
    });
    const replaced = await save({ id });
    expect(replaced).toMatchObject({ name: 'e', gpuIds: 'AMPERE_24', templateId, workersMax: 3, idleTimeout: 10 });
    expect(replaced).toMatchObject({
      scalerValue: 4,
      flashBootType: 'OFF',
      locations: '',
      minCudaVersion: '',
      version: 2,
    });
  });

  test('follows its template: a save of that is a release, before a save of the endpoint or after it', async () => {
    const saveTemplate = (image: string, key?: string) =>
      ask(
        `mutation { saveTemplate(input: {id: "${templateId}", name: "t", imageName: "${image}", containerDiskInGb: 5, volumeInGb: 0,
           isServerless: true}) { id } }`,
        {},
        key,
      );
    const { id } = await save({ name: 'e', templateId, gpuIds: 'ADA_24' });
    const { id: changedId } = await save({ name: 'changed', templateId, gpuIds: 'ADA_24' });
    await rest.call('PATCH', `/v2/serverless/${changedId}`, { key: rest.alice.key, body: { image: 'own:1' } });
    await saveTemplate('t:2');
    expect((await viaRest(id)).image).toBe('t:2');
    expect((await save({ id, templateId, gpuIds: 'ADA_24' })).version).toBe(2);
    await saveTemplate('t:3');
    expect((await viaRest(id)).image).toBe('t:3');
    expect(await releases(id)).toBe(3);
    expect((await viaRest(changedId)).image).toBe('own:1');

    const templatesOnly = await rest.keyFor(rest.alice, 'templates:write');
    expect((await saveTemplate('t:4', templatesOnly)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    expect((await viaRest(id)).image).toBe('t:3');
    expect((await save({ id, templateId, gpuIds: 'ADA_24' })).version).toBe(3); // the template stayed as it was, too
  });

  test('follows its template when that is saved several times at once', async () => {
    const { id } = await save({ name: 'e', templateId, gpuIds: 'ADA_24' });
    const saveTemplate = (n: number) =>
      ask(
        `mutation { saveTemplate(input: {id: "${templateId}", name: "t", imageName: "t:${n}", containerDiskInGb: 5, volumeInGb: 0,
           isServerless: true}) { id } }`,
      );
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 4 }, (_, n) => saveTemplate(10 * round + n)));
      const { data } = await ask(`{ podTemplate(id: "${templateId}") { imageName } }`);
      expect((await viaRest(id)).image).toBe(data.podTemplate.imageName);
    }
  });

  test('cannot change the type, nor another user’s endpoint', async () => {
    const { id } = await save({ name: 'e', templateId, gpuIds: 'ADA_24' });
    expect((await trySave({ id, type: 'LB' })).errors).toMatchObject([{ message: 'type: is fixed at creation' }]);
    const foreign = await trySave({ id, name: 'mine' }, rest.bob.key);
    expect(foreign.errors).toMatchObject([{ message: 'Endpoint not found', extensions: { code: 'NOT_FOUND' } }]);
    expect(foreign).toEqual(await trySave({ id: 'missing', name: 'mine' }, rest.bob.key));
  });
});

test('updateEndpointTemplate copies another template; the previous one is kept, an inline one deleted', async () => {
  const { id } = await save({ name: 'e', template: { imageName: 'own:1' }, gpuIds: 'ADA_24' });
  const change = (to: string) =>
    ask('mutation ($i: UpdateEndpointTemplateInput) { updateEndpointTemplate(input: $i) { id templateId version } }', {
      i: { endpointId: id, templateId: to },
    });
  expect((await change(templateId)).data.updateEndpointTemplate).toEqual({ id, templateId, version: 2 });
  expect((await ask('{ podTemplates { name } }')).data.podTemplates).toEqual([{ name: 't' }]);
  const other = await makeTemplate('u');
  await change(other);
  expect((await viaRest(id)).image).toBe('u:1');
  expect((await ask('mutation { deleteTemplate(templateName: "t") }')).errors).toBeUndefined();
  expect((await ask('mutation { deleteTemplate(templateName: "u") }')).errors).toMatchObject([
    { message: 'The template is in use by an endpoint.' },
  ]);
});

test('myself lists endpoints with their live workers, also those created in REST, and finds one', async () => {
  const body = { name: 'r', image: 'i:1', gpu: { pools: ['ADA_24'] }, scaling: { value: 0.5 } };
  const { id } = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json();
  await save({ name: 'g', templateId, gpuIds: 'ADA_24' });
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ('w1', $1, $2, 1, 'test', '{}')`,
    [id, rest.alice.userId],
  );
  const { data, errors } = await ask(`{ myself { endpoints { ${ALL} } endpoint(id: "${id}") { name version } } }`);
  expect(errors).toBeUndefined();
  expect(data.myself.endpoints.map(({ name }: { name: string }) => name)).toEqual(['r', 'g']);
  expect(data.myself.endpoints[0]).toMatchObject({
    scalerValue: 0.5,
    templateId: null,
    template: null,
    pods: [{ id: 'w1', desiredStatus: 'RUNNING' }],
  });
  expect(data.myself.endpoint).toEqual({ name: 'r', version: 1 });
});
