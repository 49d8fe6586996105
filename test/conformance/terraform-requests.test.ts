import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuStock } from '../../src/domain/catalog/capacity-source.ts';
import { type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * docs/interface/revision-2026-08.md, "Serverless endpoints": what the public Terraform provider (runpod/terraform-provider-runpod, commits 32f26e2, a76ff8f and b745291) sends for its
 * resources, with the members that it makes of a configuration: docs/decisions/0101-terraform.md. It has none for secrets. It
 * takes 200 and 201 for success, 204 for a deletion, and a 404 of a read for "it is gone".
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

function client(base: string) {
  const call = (method: string, path: string, body?: object) =>
    rest.call(method, base + path, { key: rest.alice.key, ...(body && { body }) });
  return {
    async send(method: string, path: string, body?: object) {
      const response = await call(method, path, body);
      const expected = { POST: 201, DELETE: 204 }[method] ?? 200;
      expect(response.statusCode, `${method} ${path}: ${response.body}`).toBe(expected);
      return response.body === '' ? undefined : response.json();
    },
    async isGone(path: string) {
      return (await call('GET', path)).statusCode === 404;
    },
    async refusal(method: string, path: string, body: object): Promise<string[]> {
      const response = await call(method, path, body);
      expect(response.statusCode, response.body).toBe(422);
      return response.json().errors;
    },
  };
}

const ENDPOINT = {
  name: 'tf',
  image: 'i:1',
  gpu: { pools: ['ADA_24'], count: 1 },
  workers: { min: 0, max: 2 },
  scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
  env: { A: '1' },
  timeout: 600_000,
};

describe.each(['/v2', '/2026-07/v2', '/2026-08/v2'])('with the base URL %s', (base) => {
  const { send, isGone } = client(base);

  test('a network volume: create, read, update, delete', async () => {
    const volume = await send('POST', '/network-volumes', { name: 'tf', size: 10, dataCenter: 'EU-RO-1' });
    const path = `/network-volumes/${volume.id}`;
    expect(volume).toMatchObject({ name: 'tf', size: 10, dataCenter: 'EU-RO-1', type: 'STANDARD' });
    expect(await send('PATCH', path, { name: 'tf-2', size: 20 })).toMatchObject({ name: 'tf-2', size: 20 });
    expect(await send('GET', path)).toMatchObject({ size: 20 });
    await send('DELETE', path);
    expect(await isGone(path)).toBe(true);
  });

  test('a template: create, read, update, delete; its lists and its volume are understood', async () => {
    const registry = await send('POST', '/registries', { name: `r${base}`, username: 'u', password: 'p' });
    const template = await send('POST', '/templates', {
      name: 'tf',
      image: 'i:1',
      category: 'NVIDIA',
      disk: 20,
      containerRegistryAuthId: registry.id,
      dockerEntrypoint: ['python'],
      dockerStartCmd: ['-m', 'http.server'],
      env: { A: '1' },
      public: false,
      serverless: false,
      ports: ['8888/http', '22/tcp'],
      mounts: [{ volumeInGb: 20, volumeMountPath: '/data' }],
    });
    expect(template).toMatchObject({
      disk: 20,
      registry: registry.id,
      mounts: { persistent: { size: 20, path: '/data' } },
    });
    expect(JSON.parse(template.args)).toEqual({ entrypoint: ['python'], cmd: ['-m', 'http.server'] });
    const path = `/templates/${template.id}`;
    const change = {
      name: 'tf-2',
      image: 'i:2',
      env: { B: '2' },
      dockerStartCmd: ['serve'],
      mounts: [{ volumeInGb: 30 }],
    };
    const changed = await send('PATCH', path, change);
    expect(changed).toMatchObject({ name: 'tf-2', mounts: { persistent: { size: 30, path: '/workspace' } } });
    expect(JSON.parse(changed.args)).toEqual({ cmd: ['serve'] });
    expect(await send('GET', path)).toEqual(changed);
    await send('DELETE', path);
    expect(await isGone(path)).toBe(true);
  });

  test('a pod: create, read, update, delete; its list of mounts is understood', async () => {
    const settings = { image: 'i:1', gpu: { id: GPU, count: 1 }, cloud: 'SECURE', env: { A: '1' }, startSsh: true };
    const pod = await send('POST', '/pods', {
      ...settings,
      name: 'tf',
      mounts: [{ volumeInGb: 20, volumeMountPath: '/workspace', volumeEncrypted: false }],
      disk: 20,
      ports: ['8888/http'],
      startJupyter: false,
    });
    expect(pod.mounts).toEqual({ persistent: { size: 20, path: '/workspace' } });
    const volume = await send('POST', '/network-volumes', { name: 'v', size: 10, dataCenter: 'EU-RO-1' });
    const mounts = [{ networkVolumeId: volume.id, volumeMountPath: '/models' }];
    const other = await send('POST', '/pods', { ...settings, name: 'tf-2', mounts });
    expect(other.mounts).toEqual({ network: [{ volumeId: volume.id, path: '/models' }] });
    const path = `/pods/${pod.id}`;
    const change = { name: 'tf-3', env: { B: '2' }, ports: ['80/http'], containerDiskInGb: 30 };
    expect(await send('PATCH', path, change)).toMatchObject({ id: pod.id, name: 'tf-3', disk: 30 });
    expect(await send('GET', path)).toMatchObject({ name: 'tf-3', image: 'i:1' });
    for (const { id } of [pod, other]) {
      await send('DELETE', `/pods/${id}`);
      expect(await isGone(`/pods/${id}`)).toBe(true);
    }
    await send('DELETE', `/network-volumes/${volume.id}`);
  });
});

describe.each(['/v2', '/2026-07/v2'])('with the base URL %s', (base) => {
  const { send, isGone } = client(base);

  test('an endpoint: create, read, update, delete; `flashboot` is a boolean', async () => {
    const volume = await send('POST', '/network-volumes', { name: 'v', size: 10, dataCenter: 'EU-RO-1' });
    const body = { ...ENDPOINT, flashboot: true, networkVolumeId: volume.id, networkVolumeIds: [volume.id] };
    const endpoint = await send('POST', '/serverless', body);
    expect(endpoint).toMatchObject({
      flashboot: 'FLASHBOOT',
      networkVolumes: [volume.id],
      workers: { min: 0, max: 2 },
      scaling: ENDPOINT.scaling,
      timeout: 600_000,
    });
    const path = `/serverless/${endpoint.id}`;
    const change = { ...ENDPOINT, image: 'i:2', flashboot: false, containerDiskInGb: 30, workers: { max: 5 } };
    expect(await send('PATCH', path, change)).toMatchObject({ image: 'i:2', flashboot: 'OFF', disk: 30 });
    expect(await send('GET', path)).toMatchObject({ image: 'i:2', workers: { min: 0, max: 5 } });
    await send('DELETE', path);
    expect(await isGone(path)).toBe(true);
    await send('DELETE', `/network-volumes/${volume.id}`);
  });
});

describe('what cannot be understood is answered with what to write instead', () => {
  const { refusal, send } = client('/2026-08/v2');

  test('an endpoint in the words of revision 2026-07: the base URL that has them', async () => {
    expect(await refusal('POST', '/serverless', { ...ENDPOINT, flashboot: true })).toEqual(
      expect.arrayContaining([
        '/scaling/idleTimeout: the spelling of revision 2026-07; in revision 2026-08 it is /workers/idleTimeout',
        '$: this client speaks revision 2026-07: give it /2026-07/v2 as its base URL',
      ]),
    );
  });

  test('a boolean `flashboot` alone is understood in this revision too', async () => {
    const scaling = { type: 'QUEUE_DELAY', queueDelay: 4 };
    const { id } = await send('POST', '/serverless', { ...ENDPOINT, type: 'QUEUE', scaling, flashboot: true });
    expect(await send('GET', `/serverless/${id}`)).toMatchObject({ flashboot: 'FLASHBOOT' });
    expect(await send('PATCH', `/serverless/${id}`, { flashboot: false })).toMatchObject({ flashboot: 'OFF' });
    await send('DELETE', `/serverless/${id}`);
  });

  test.each([
    ['/serverless', { ...ENDPOINT, gpu: { pools: ['ADA_24'], count: 0 } }, /^\/gpu\/count: .*write gpu_count = 1$/],
    ['/serverless', { ...ENDPOINT, minCudaVersion: '12.4' }, /^\/minCudaVersion: revision 2026-08 has it as \/gpu\//],
    [
      '/serverless',
      { ...ENDPOINT, computeType: 'GPU' },
      /^\/computeType: endpoints have no such member: leave it out$/,
    ],
    ['/pods', { bidPerGpu: 0.3 }, /^\/bidPerGpu: there are no bids: leave it out \(in Terraform bid_per_gpu\)/],
    ['/pods', { mounts: [{ volumeInGb: 20, volumeEncrypted: true }] }, /^\/mounts: storage is not encrypted: leave/],
    ['/templates', { readme: 'r' }, /^\/readme: templates have no readme: leave it out$/],
  ])('POST %s with %o', async (path, members, sentence) => {
    const body = { name: 'tf', image: 'i:1', ...(path === '/pods' && { gpu: { id: GPU } }), ...members };
    expect(await refusal('POST', path, body)).toContainEqual(expect.stringMatching(sentence));
  });

  test('a pod’s storage in an update', async () => {
    const pod = await send('POST', '/pods', { name: 'p', image: 'i:1', gpu: { id: GPU } });
    const errors = await refusal('PATCH', `/pods/${pod.id}`, { volumeInGb: 30 });
    expect(errors).toContainEqual(expect.stringMatching(/^\/volumeInGb: storage is in `mounts`: .* replace the pod$/));
    await send('DELETE', `/pods/${pod.id}`);
  });

  test('members that stand beside those they mean stay, so that nothing is lost', async () => {
    const body = { name: 'tf', image: 'i:1', disk: 20, containerDiskInGb: 30 };
    expect(await refusal('POST', '/templates', body)).toEqual([
      "$: additional property 'containerDiskInGb' is not allowed",
    ]);
    const two = { name: 'tf', image: 'i:1', args: 'a', dockerStartCmd: ['b'] };
    expect(await refusal('POST', '/templates', two)).toEqual([
      "$: additional property 'dockerStartCmd' is not allowed",
    ]);
    const mounts = [{ volumeInGb: 20 }, { volumeInGb: 30 }];
    expect(await refusal('POST', '/templates', { name: 'tf', image: 'i:1', mounts })).toEqual([
      '/mounts: must be object',
    ]);
  });
});
