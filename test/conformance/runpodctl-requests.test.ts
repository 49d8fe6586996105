import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GpuStock } from '../../src/domain/catalog/capacity-source.ts';
import { type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * docs/interface/revision-2026-08.md, "Pods and templates" and "Serverless endpoints": what runpodctl sends over REST since it uses
 * version 2 (commits 3c5614d, 0b71659 and 71189101), with the members and parameters that its commands have. It reads the addresses that a
 * base URL of revision 2026-08 has.
 */
const GPU = 'NVIDIA GeForce RTX 4090';

let rest: RestFixture;
beforeAll(async () => {
  const gpu: GpuStock = {
    pool: 'ADA_24',
    gpuTypeId: GPU,
    dataCenterId: 'EU-RO-1',
    total: 100,
    free: 100,
    cudaVersion: '12.8',
  };
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [gpu], cpus: 64, memoryBytes: 2 ** 38 }) } });
});
afterAll(() => rest.close());

async function send(method: string, path: string, body?: unknown) {
  const response = await rest.call(method, `/2026-08/v2${path}`, {
    key: rest.alice.key,
    ...(body !== undefined && { body }),
  });
  expect(response.statusCode, `${method} ${path}: ${response.body}`).toBeLessThan(300);
  return response.body === '' ? undefined : response.json();
}

test('pod create, get, update, stop, start, restart, delete', async () => {
  const volume = await send('POST', '/network-volumes', { name: 'v', size: 10, dataCenter: 'EU-RO-1' });
  const pod = await send('POST', '/pods', {
    name: 'cli',
    image: 'i:1',
    cloud: 'SECURE',
    gpu: { id: GPU, count: 1, minCudaVersion: '12.4' },
    disk: 20,
    mounts: { persistent: { size: 20, path: '/workspace' } },
    ports: ['8888/http', '22/tcp'],
    env: { A: '1' },
    cmd: ['sleep', '1'],
    entrypoint: ['sh', '-c'],
    dataCenterIds: ['EU-RO-1'],
    startSsh: true,
  });
  expect(JSON.parse(pod.args)).toEqual({ entrypoint: ['sh', '-c'], cmd: ['sleep', '1'] });
  const withVolume = await send('POST', '/pods', {
    name: 'cli-2',
    image: 'i:1',
    cloud: 'SECURE',
    gpu: { id: GPU, count: 1 },
    mounts: { network: [{ volumeId: volume.id, path: '/workspace' }] },
    cmd: ['serve'],
  });
  expect(JSON.parse(withVolume.args)).toEqual({ cmd: ['serve'] });
  expect((await send('GET', '/pods')).pods.map(({ id }: { id: string }) => id)).toEqual([pod.id, withVolume.id]);
  const updated = await send('PATCH', `/pods/${pod.id}`, {
    name: 'renamed',
    image: 'i:2',
    disk: 30,
    ports: ['80/http'],
    env: { B: '2' },
    mounts: { persistent: { size: 30, path: '/data' } },
  });
  expect(updated).toMatchObject({ name: 'renamed', image: 'i:2', args: pod.args });
  for (const action of ['stop', 'start', 'restart']) {
    await send('POST', `/pods/${pod.id}/action`, { action });
    if (action === 'start') {
      const text = "update pods set phase = 'RUNNING', phase_revision = revision where id = $1";
      await rest.database.pool.query(text, [pod.id]);
    }
  }
  await send('DELETE', `/pods/${pod.id}`);
  await send('DELETE', `/pods/${withVolume.id}`);
});

test('pod create of a CPU pod walks the flavors, and resolves countries and certificates through the catalog', async () => {
  const { cpus } = await send('GET', '/catalog/cpus?include=AVAILABILITY&product=POD&vcpuCount=2');
  expect(cpus[0]).toMatchObject({ id: expect.any(String), availability: 'HIGH' });
  const pod = await send('POST', '/pods', {
    name: 'cpu',
    image: 'i:1',
    cloud: 'SECURE',
    cpu: { id: cpus[0].id, vcpuCount: 2 },
  });
  expect(pod.cpu).toMatchObject({ id: cpus[0].id, vcpuCount: 2 });
  await send('GET', '/catalog/gpus?countryCodes=RO&include=AVAILABILITY&product=POD');
  expect(await send('GET', '/catalog/datacenters?compliance=GDPR')).toHaveProperty('dataCenters');
});

test('template create, list, get, update, delete', async () => {
  const registry = await send('POST', '/registries', { name: 'r', username: 'u', password: 'p' });
  const template = await send('POST', '/templates', {
    name: 'tool',
    image: 'i:1',
    serverless: false,
    ports: ['8888/http', '22/tcp'],
    entrypoint: ['python'],
    cmd: ['-m', 'http.server'],
    env: { A: '1' },
    disk: 20,
    registry: registry.id,
    mounts: { persistent: { size: 20, path: '/workspace' } },
  });
  expect(JSON.parse(template.args)).toEqual({ entrypoint: ['python'], cmd: ['-m', 'http.server'] });
  expect((await send('GET', '/templates')).templates).toHaveLength(1);
  expect(await send('GET', '/catalog/templates?source=official')).toHaveProperty('templates');
  await send('PATCH', `/templates/${template.id}`, { name: 'tool-2', image: 'i:2', ports: [], env: {}, disk: 30 });
  expect(await send('GET', `/templates/${template.id}`)).toMatchObject({ name: 'tool-2', args: template.args });
  await send('DELETE', `/templates/${template.id}`);
});

test('serverless list, get, update, workers, delete', async () => {
  const { data } = await rest.graphql(`mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }`, {
    key: rest.alice.key,
    variables: {
      input: {
        name: 'e',
        gpuIds: 'ADA_24',
        template: { name: 'e', imageName: 'i:1', containerDiskInGb: 20, dockerArgs: '', env: [] },
      },
    },
  });
  const { id } = data.saveEndpoint;
  expect((await send('GET', '/serverless')).endpoints).toHaveLength(1);
  const path = `/serverless/${id}`;
  expect(await send('GET', path)).toMatchObject({ scaling: { type: 'QUEUE_DELAY', queueDelay: 4 } });
  await send('PATCH', path, { workers: { min: 0, max: 5, idleTimeout: 60 }, flashboot: 'FLASHBOOT' });
  await send('PATCH', path, { scaling: { type: 'QUEUE_DELAY', queueDelay: 7 } });
  await send('PATCH', path, { scaling: { type: 'REQUEST_COUNT', requestCount: 3 } });
  expect(await send('GET', `${path}/workers`)).toMatchObject({ workers: [], summary: { total: 0, idle: 0 } });
  const renamed = await rest.callV1('PATCH', `/v1/endpoints/${id}`, { key: rest.alice.key, body: { name: 'renamed' } });
  expect(renamed.json()).toMatchObject({ name: 'renamed', workersMax: 5, scalerValue: 3 });
  await send('DELETE', path);
});

test('ssh add-key and remove-key replace the account’s keys', async () => {
  const keys = ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA me'];
  expect(await send('GET', '/account/ssh-keys')).toEqual({ keys: [] });
  await send('PUT', '/account/ssh-keys', { keys });
  expect(await send('GET', '/account/ssh-keys')).toEqual({ keys });
  await send('PUT', '/account/ssh-keys', { keys: [] });
});

test('a command is either args, or cmd and entrypoint; revision 2026-07 has args alone', async () => {
  const body = { name: 'p', image: 'i:1', gpu: { id: GPU }, cmd: ['a'] };
  const both = await rest.call('POST', '/2026-08/v2/pods', { key: rest.alice.key, body: { ...body, args: 'b' } });
  expect([both.statusCode, both.json().detail]).toEqual([400, 'args: cannot be given together with cmd or entrypoint']);
  const older = await rest.call('POST', '/v2/pods', { key: rest.alice.key, body });
  expect([older.statusCode, older.json().errors]).toEqual([422, ["$: additional property 'cmd' is not allowed"]]);
});
