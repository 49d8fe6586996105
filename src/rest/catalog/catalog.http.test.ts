import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { Failure } from '../../core/errors.ts';
import type { GpuStock } from '../../domain/catalog/capacity-source.ts';

const RTX_ID = 'NVIDIA GeForce RTX 4090';
const stock = (gpuTypeId: string, pool: string, dataCenterId: string, free: number): GpuStock => {
  return { gpuTypeId, pool, dataCenterId, total: 4, free };
};
const CUDA = { 'LOCAL-1': '12.8', 'EU-RO-1': '12.10' };
const GPUS = [
  { ...stock(RTX_ID, 'ADA_24', 'LOCAL-1', 2), cudaVersion: CUDA['LOCAL-1'] },
  { ...stock(RTX_ID, 'ADA_24', 'EU-RO-1', 0), cudaVersion: CUDA['EU-RO-1'] },
  stock('NVIDIA L4', 'AMPERE_24', 'EU-RO-1', 4),
];

let rest: RestFixture;
beforeAll(async () => {
  const capacity = { read: async () => ({ gpus: GPUS, cpus: 4, memoryBytes: 16 * 2 ** 30 }) };
  rest = await startRestApp({ capacity });
});
afterAll(() => rest.close());

const get = (path: string) => rest.call('GET', `/v2/catalog/${path}`, { key: rest.alice.key });
const list = async (path: string) => {
  const answer = (await get(path)).json();
  const [key, ...others] = Object.keys(answer);
  expect(others).toEqual([]);
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON
  return { key, items: answer[key!] as any[] };
};
const ids = async (path: string): Promise<string[]> => (await list(path)).items.map((item) => item.id);
const encoded = encodeURIComponent(RTX_ID);

describe('GPU types', () => {
  test('are listed with every field except availability', async () => {
    const { key, items } = await list('gpus');
    expect(key).toBe('gpus');
    expect(items.find((gpu) => gpu.id === RTX_ID)).toEqual({
      id: RTX_ID,
      name: 'RTX 4090',
      pool: 'ADA_24',
      manufacturer: 'NVIDIA',
      memory: 24,
      secure: true,
      community: true,
      price: { secure: 0.59, community: 0.34, serverless: 0.59 },
      maxCount: { secure: 8, community: 8 },
    });
    expect(items.some((gpu) => gpu.pool === null)).toBe(true);
    for (const { pool, price } of items) expect('serverless' in price).toBe(pool !== null);
    const sides = items.flatMap(({ price }) => [price.secure, price.community]);
    expect(sides.every((price) => typeof price === 'number')).toBe(true);
    // Sold on one side only: it repeats that side's price.
    expect(items.find((gpu) => gpu.id === 'NVIDIA L4').price).toEqual({
      secure: 0.39,
      community: 0.39,
      serverless: 0.39,
    });
  });

  test('are found by ids with spaces, percent-encoded and never normalized', async () => {
    expect((await get(`gpus/${encoded}`)).json().id).toBe(RTX_ID);
    for (const id of [encoded.toLowerCase(), 'NVIDIA+GeForce+RTX+4090', `${encoded}%20`, 'x', '%00', '%2Fetc']) {
      const response = await get(`gpus/${id}`);
      expect([id, response.statusCode, response.json().detail]).toEqual([id, 404, 'GPU type not found']);
    }
  });

  test('have their availability if included', async () => {
    const answer = (await get(`gpus/${encoded}?include=AVAILABILITY`)).json();
    expect(answer).toMatchObject({
      availability: 'MEDIUM',
      dataCenters: [
        { id: 'LOCAL-1', name: 'This machine', availability: 'MEDIUM' },
        { id: 'EU-RO-1', name: 'Romania', availability: 'NONE' },
      ],
    });
    const { items } = await list('gpus?include=AVAILABILITY');
    expect(items.find((gpu) => gpu.id === RTX_ID)).toEqual(answer);
    expect(items.every((gpu) => gpu.availability && gpu.dataCenters)).toBe(true);
  });

  test('can be filtered by count, cloud and CUDA version', async () => {
    const level = async (query: string) =>
      (await get(`gpus/${encoded}?include=AVAILABILITY&${query}`)).json().availability;
    expect(await level('count=2')).toBe('LOW');
    expect(await level('count=3')).toBe('NONE');
    expect(await level('cloud=COMMUNITY&minCudaVersion=12.8')).toBe('MEDIUM');
    expect((await get('gpus/NVIDIA%20L4?include=AVAILABILITY&cloud=COMMUNITY')).json().availability).toBe('NONE');
  });

  test('show the CUDA versions of their machines, and which have a free GPU', async () => {
    const shown = (await get(`gpus/${encoded}?include=AVAILABILITY`)).json();
    expect(shown.cudaVersions).toEqual([
      { version: '12.10', available: false },
      { version: '12.8', available: true },
    ]);
    expect((await get('gpus/NVIDIA%20L4?include=AVAILABILITY')).json().cudaVersions).toEqual([]);
    expect((await get(`gpus/${encoded}`)).json()).not.toHaveProperty('cudaVersions');
  });

  test('can be filtered by exact CUDA versions and by country', async () => {
    const read = async (query: string) => (await get(`gpus/${encoded}?include=AVAILABILITY&${query}`)).json();
    expect((await read('cudaVersions=12.8,13.0')).availability).toBe('MEDIUM');
    expect((await read('cudaVersions=12.4')).availability).toBe('NONE');
    expect(await read('countryCodes=RO')).toMatchObject({ availability: 'NONE', dataCenters: [{ id: 'EU-RO-1' }] });
    expect(await read('countryCodes=US,DE')).toMatchObject({ availability: 'NONE', dataCenters: [] });
    const both = await get(`gpus/${encoded}?include=AVAILABILITY&cudaVersions=12.8&minCudaVersion=12.4`);
    expect([both.statusCode, both.json().detail]).toEqual([
      400,
      'cudaVersions, minCudaVersion: only one of them can be given',
    ]);
  });

  test('can be filtered by product', async () => {
    const all = await ids('gpus');
    const serverless = (await list('gpus?product=SERVERLESS')).items;
    expect(serverless.length).toBeLessThan(all.length);
    expect(serverless.every((gpu) => gpu.pool !== null)).toBe(true);
    expect(await ids('gpus?product=POD,SERVERLESS')).toEqual(all);
    expect(await ids('gpus?product=CLUSTER')).toEqual(await ids('gpus?product=POD'));
  });

  test.each([
    'gpus?count=2',
    'gpus?cudaVersions=12.8',
    'gpus?countryCodes=DE',
    `gpus/${encoded}?cloud=SECURE`,
    'gpus?minCudaVersion=12.8&product=POD',
  ])('%s is a 400 without include=AVAILABILITY', async (path) => {
    const response = await get(path);
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toMatch(
      /^(count|cloud|minCudaVersion|cudaVersions|countryCodes): .*include=AVAILABILITY$/,
    );
  });

  test.each([
    ['gpus?include=EVERYTHING', 'query/include: must be one of AVAILABILITY'],
    ['gpus?include=AVAILABILITY&count=0', 'query/count: must be >= 1'],
    ['gpus?include=AVAILABILITY&count=x', 'query/count: must be integer'],
    ['gpus?include=AVAILABILITY&cloud=MINE', 'query/cloud: must be one of SECURE, COMMUNITY'],
    ['gpus?product=POD,', 'query/product: must match pattern'],
    ['gpus?include=AVAILABILITY&minCudaVersion=new', 'query/minCudaVersion: must match pattern'],
    ['gpus?include=AVAILABILITY&countryCodes=de', 'query/countryCodes: must match pattern'],
    ['gpus?include=AVAILABILITY&cudaVersions=12.8,', 'query/cudaVersions: must match pattern'],
    ['gpus?product=POD&product=SERVERLESS', 'query/product: must be string'],
  ])('%s is a 422', async (path, error) => {
    const response = await get(path);
    expect(response.statusCode).toBe(422);
    expect(response.json().errors[0]).toContain(error);
  });

  test('an unknown parameter is ignored', async () => {
    expect((await get('gpus?surprise=1')).statusCode).toBe(200);
  });
});

describe('CPU flavors', () => {
  test('are listed and found', async () => {
    expect(await ids('cpus')).toEqual(['cpu3c', 'cpu3g', 'cpu3m', 'cpu5c', 'cpu5g', 'cpu5m']);
    expect((await get('cpus/cpu3c')).json()).toEqual({
      id: 'cpu3c',
      name: 'Compute-Optimized (3rd generation)',
      group: '3rd generation',
      vcpu: { min: 2, max: 32 },
      ramGbPerVcpu: 2,
      price: { securePerVcpu: 0.03, serverlessPerVcpu: 0.036 },
    });
    const missing = await get('cpus/cpu9x');
    expect([missing.statusCode, missing.json().detail]).toEqual([404, 'CPU flavor not found']);
  });

  test('have their availability if included', async () => {
    const level = async (query: string) => (await get(`cpus/cpu3c?include=AVAILABILITY${query}`)).json();
    expect(await level('')).toMatchObject({
      availability: 'MEDIUM',
      dataCenters: [{ id: 'LOCAL-1', name: 'This machine', availability: 'MEDIUM' }],
    });
    expect((await level('&vcpuCount=4')).availability).toBe('LOW');
    expect((await level('&vcpuCount=8')).availability).toBe('NONE');
    expect((await list('cpus?include=AVAILABILITY&product=POD')).items[0].availability).toBe('MEDIUM');
  });

  test('with vcpuCount alone are a 400, with a wrong one a 422', async () => {
    expect((await get('cpus?vcpuCount=4')).statusCode).toBe(400);
    expect((await get('cpus/cpu3c?vcpuCount=4')).statusCode).toBe(400);
    expect((await get('cpus?include=AVAILABILITY&vcpuCount=1')).statusCode).toBe(422);
    expect((await get('cpus?product=CLUSTER')).statusCode).toBe(422);
  });
});

describe('data centers', () => {
  test('are listed and found', async () => {
    expect((await list('datacenters')).key).toBe('dataCenters');
    expect((await get('datacenters/LOCAL-1')).json()).toEqual({
      id: 'LOCAL-1',
      name: 'This machine',
      region: 'UNKNOWN',
      globalNetwork: true,
      networkVolumeTypes: ['STANDARD'],
      compliance: [],
    });
    const missing = await get('datacenters/local-1');
    expect([missing.statusCode, missing.json().detail]).toEqual([404, 'Data center not found']);
  });

  test('have their availability if included', async () => {
    const both = (await get('datacenters/LOCAL-1?include=GPU_AVAILABILITY,CPU_AVAILABILITY')).json();
    expect(both.gpuAvailability).toEqual([{ id: RTX_ID, name: 'RTX 4090', availability: 'MEDIUM' }]);
    expect(both.cpuAvailability[0]).toEqual({
      id: 'cpu3c',
      name: 'Compute-Optimized (3rd generation)',
      availability: 'MEDIUM',
    });
    const gpus = (await get('datacenters/EU-RO-1?include=GPU_AVAILABILITY')).json();
    expect(gpus.gpuAvailability.map((gpu: { availability: string }) => gpu.availability)).toEqual(['HIGH', 'NONE']);
    expect(gpus).not.toHaveProperty('cpuAvailability');
    const { items } = await list('datacenters?include=CPU_AVAILABILITY');
    expect(items.every((item) => Array.isArray(item.cpuAvailability))).toBe(true);
  });

  test('can be filtered by any region, all volume types, all compliance, and global network', async () => {
    const { items } = await list('datacenters');
    const want = async (query: string, isWanted: (item: (typeof items)[0]) => boolean) => {
      const wanted = items.filter(isWanted).map((item) => item.id);
      expect(wanted.length).toBeGreaterThan(0);
      expect(wanted.length).toBeLessThan(items.length);
      expect(await ids(`datacenters?${query}`)).toEqual(wanted);
    };
    await want('regions=ASIA,UNKNOWN', ({ region }) => region === 'ASIA' || region === 'UNKNOWN');
    await want('networkVolumeTypes=STANDARD,HIGH_PERFORMANCE', (item) => item.networkVolumeTypes.length === 2);
    await want('compliance=GDPR,ISO_14001', ({ compliance }) =>
      ['GDPR', 'ISO_14001'].every((name) => compliance.includes(name)),
    );
    await want('globalNetwork=false', (item) => !item.globalNetwork);
    await want('globalNetwork=true&regions=EUROPE', (item) => item.globalNetwork && item.region === 'EUROPE');
  });

  test.each([
    'include=AVAILABILITY',
    'regions=MARS',
    'compliance=gdpr',
    'globalNetwork=perhaps',
    'networkVolumeTypes=',
  ])('with %s are a 422', async (query) => {
    expect((await get(`datacenters?${query}`)).statusCode).toBe(422);
  });
});

test('every operation needs a key with the permission', async () => {
  const reader = await rest.keyFor(rest.alice, 'catalog:read');
  const other = await rest.keyFor(rest.alice, 'serverless:write');
  for (const path of ['gpus', `gpus/${encoded}`, 'cpus', 'cpus/cpu3c', 'datacenters', 'datacenters/LOCAL-1']) {
    const url = `/v2/catalog/${path}`;
    expect((await rest.call('GET', url)).statusCode).toBe(401);
    expect((await rest.call('GET', url, { key: other })).statusCode).toBe(403);
    expect((await rest.call('GET', url, { key: reader })).statusCode).toBe(200);
    expect((await rest.call('POST', url, { key: reader, body: {} })).statusCode).toBe(405);
  }
});

test('an unresponsive runtime is a 503, but only if availability is requested', async () => {
  const down = await startRestApp({
    capacity: { read: () => Promise.reject(new Failure('unavailable', 'The runtime does not answer.')) },
  });
  try {
    const status = async (path: string) =>
      (await down.call('GET', `/v2/catalog/${path}`, { key: down.alice.key })).statusCode;
    expect([await status('gpus'), await status('gpus?include=AVAILABILITY')]).toEqual([200, 503]);
  } finally {
    await down.close();
  }
});

describe('GPU capacity', () => {
  test('counts the GPUs that are here by type, over all data centers', async () => {
    expect((await get('capacity')).json()).toEqual({
      gpus: [
        { id: RTX_ID, name: 'RTX 4090', pool: 'ADA_24', total: 8, free: 2 },
        { id: 'NVIDIA L4', name: 'L4', pool: 'AMPERE_24', total: 4, free: 4 },
      ],
    });
  });

  test('needs a key that may read the catalog', async () => {
    expect((await rest.call('GET', '/v2/catalog/capacity', {})).statusCode).toBe(401);
    const key = await rest.keyFor(rest.alice, 'invoke');
    expect((await rest.call('GET', '/v2/catalog/capacity', { key })).statusCode).toBe(403);
  });
});
