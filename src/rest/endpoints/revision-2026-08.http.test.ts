import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const MINIMAL = {
  name: 'hello',
  type: 'QUEUE',
  image: 'podyard/echo:1',
  gpu: { pools: ['ADA_24'] },
  scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
};
const BALANCED = { ...MINIMAL, type: 'LOAD_BALANCER', scaling: { type: 'REQUEST_COUNT', requestCount: 2 } };
const { gpu: _, ...WITHOUT_GPU } = MINIMAL;
const CPU = { ...WITHOUT_GPU, cpu: [{ id: 'cpu3c', vcpuCount: 2 }] };
const NEW = '/2026-08/v2/serverless';
const OLD = '/v2/serverless';
const PUBLIC = 'http://podyard.test:8080/2026-08';

const create = (body: unknown, key = rest.alice.key) => rest.call('POST', NEW, { key, body });
const made = async (body: unknown): Promise<string> => {
  const response = await create(body);
  expect([response.statusCode, response.body]).toEqual([201, expect.anything()]);
  return response.json().id;
};
const update = (id: string, body: unknown) => rest.call('PATCH', `${NEW}/${id}`, { key: rest.alice.key, body });
const updateOld = (id: string, body: unknown) => rest.call('PATCH', `${OLD}/${id}`, { key: rest.alice.key, body });
const read = async (id: string, path = NEW) =>
  (await rest.call('GET', `${path}/${id}`, { key: rest.alice.key })).json();
const listed = async (id: string) => {
  const { endpoints } = (await rest.call('GET', NEW, { key: rest.alice.key })).json();
  return endpoints.find((endpoint: { id: string }) => endpoint.id === id);
};

describe('create', () => {
  test('a minimal create returns the whole record with every default; reads and lists answer the same', async () => {
    const response = await create(MINIMAL);
    expect(response.statusCode).toBe(201);
    const { id, createdAt, ...others } = response.json();
    const path = `${PUBLIC}/v2/${id}`;
    expect(others).toEqual({
      name: 'hello',
      type: 'QUEUE',
      requestUrls: {
        run: `${path}/run`,
        runSync: `${path}/runsync`,
        status: `${path}/status/{job_id}`,
        stream: `${path}/stream/{job_id}`,
        cancel: `${path}/cancel/{job_id}`,
        retry: `${path}/retry/{job_id}`,
        purgeQueue: `${path}/purge-queue`,
        health: `${path}/health`,
      },
      gpu: { pools: ['ADA_24'], count: 1, allowedCudaVersions: [], minCudaVersion: null },
      workers: { min: 0, max: 3, idleTimeout: 10 },
      scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
      dataCenterIds: [],
      networkVolumes: [],
      timeout: 300000,
      flashboot: 'OFF',
      image: 'podyard/echo:1',
      args: '',
      disk: 20,
      ports: [],
      env: {},
      registry: null,
    });
    expect(await read(id)).toEqual(response.json());
    expect(await listed(id)).toEqual(response.json());
  });

  test('a load balancer has a base and the path of its health check', async () => {
    const plain = await read(await made(BALANCED));
    expect(plain).toMatchObject({ type: 'LOAD_BALANCER', scaling: BALANCED.scaling, workers: { idleTimeout: 10 } });
    expect(plain.requestUrls).toEqual({
      base: `${PUBLIC}/v2/${plain.id}/lb`,
      health: `${PUBLIC}/v2/${plain.id}/lb/ping`,
    });
    const own = await read(await made({ ...BALANCED, env: { HEALTH_CHECK_PATH: 'v1/ok' } }));
    expect(own.requestUrls.health).toBe(`${own.requestUrls.base}/v1/ok`);
  });

  test('GPU rules are kept and answered', async () => {
    const gpu = { pools: ['AMPERE_24'], count: 2, excludedTypes: ['NVIDIA L4'], minCudaVersion: '12.8' };
    expect((await read(await made({ ...MINIMAL, gpu }))).gpu).toEqual({ ...gpu, allowedCudaVersions: [] });
    const allowed = { pools: ['ADA_24'], allowedCudaVersions: ['12.8', '12.9'] };
    expect((await read(await made({ ...MINIMAL, gpu: allowed }))).gpu).toEqual({
      ...allowed,
      count: 1,
      minCudaVersion: null,
    });
  });

  test('a CPU endpoint has a list of flavors with their memory, and no GPU', async () => {
    const cpu = [
      { id: 'cpu3c', vcpuCount: 2 },
      { id: 'cpu3g', vcpuCount: 4 },
    ];
    const endpoint = await read(await made({ ...CPU, cpu }));
    expect(endpoint.gpu).toBeNull();
    expect(endpoint.cpu).toEqual(cpu.map((one) => ({ ...one, memory: expect.any(Number) })));
    expect(await read(endpoint.id, OLD)).toMatchObject({ gpu: null, cpu: endpoint.cpu[0] });
  });

  test.each([
    ['neither gpu nor cpu', { ...CPU, cpu: undefined }],
    ['both gpu and cpu', { ...MINIMAL, cpu: CPU.cpu }],
    [
      'both CUDA rules',
      { ...MINIMAL, gpu: { pools: ['ADA_24'], allowedCudaVersions: ['12.8'], minCudaVersion: '12.4' } },
    ],
    ['an excluded type of no pool', { ...MINIMAL, gpu: { pools: ['ADA_24'], excludedTypes: ['NVIDIA H100 PCIe'] } }],
    ['an unknown flavor', { ...CPU, cpu: [{ id: 'nosuch', vcpuCount: 2 }] }],
  ])('%s is a 400', async (_, body) => {
    expect((await create(body)).statusCode).toBe(400);
  });

  test.each([
    ['no type', { type: undefined }, "$: must have required property 'type'"],
    ['no scaling', { scaling: undefined }, "$: must have required property 'scaling'"],
    ['no image and no template', { image: undefined }, "$: must have required property 'image'"],
    ['an unknown scaler', { scaling: { type: 'X' } }, '/scaling: type must be one of QUEUE_DELAY, REQUEST_COUNT'],
    [
      'a scaler without a type',
      { scaling: { queueDelay: 4 } },
      '/scaling: type must be one of QUEUE_DELAY, REQUEST_COUNT',
    ],
    ['half a scaler', { scaling: { type: 'REQUEST_COUNT' } }, "/scaling: must have required property 'requestCount'"],
    [
      'a fractional request count',
      { scaling: { type: 'REQUEST_COUNT', requestCount: 1.5 } },
      '/scaling/requestCount: must be integer',
    ],
    [
      'a delay below half a second',
      { scaling: { type: 'QUEUE_DELAY', queueDelay: 0.4 } },
      '/scaling/queueDelay: must be >= 0.5',
    ],
    ['a load balancer with a queue delay', { type: 'LOAD_BALANCER' }, '/scaling/type: must be one of REQUEST_COUNT'],
    [
      'an idle timeout of a queue that scales on requests',
      { scaling: { type: 'REQUEST_COUNT', requestCount: 1 }, workers: { idleTimeout: 5 } },
      '/workers/idleTimeout: must be left out: a QUEUE that scales on REQUEST_COUNT has no idle timeout',
    ],
    ['an idle timeout of 0', { workers: { idleTimeout: 0 } }, '/workers/idleTimeout: must be >= 1'],
    [
      'an idle timeout of more than an hour',
      { workers: { idleTimeout: 3601 } },
      '/workers/idleTimeout: must be <= 3600',
    ],
    [
      'a CUDA version without a minor one',
      { gpu: { pools: ['ADA_24'], minCudaVersion: '12' } },
      '/gpu/minCudaVersion: must match pattern "^\\d+\\.\\d+$"',
    ],
    [
      'a type excluded twice',
      { gpu: { pools: ['AMPERE_24'], excludedTypes: ['NVIDIA L4', 'NVIDIA L4'] } },
      '/gpu/excludedTypes: must NOT have duplicate items (items ## 1 and 0 are identical)',
    ],
    ['no flavor', { cpu: [] }, '/cpu: must NOT have fewer than 1 items'],
  ])('%s is a 422', async (_, change, error) => {
    const response = await create({ ...MINIMAL, ...change });
    expect([response.statusCode, response.json().errors]).toEqual([422, [error]]);
  });
});

test('a flavor with the name of a method of objects is a 422 like any other unknown name', async () => {
  const cpu = JSON.parse('[{"id":"cpu3c","vcpuCount":2},{"id":"cpu5c","vcpuCount":2,"toString":null}]');
  const response = await create({ ...WITHOUT_GPU, cpu });
  expect([response.statusCode, response.json().errors]).toEqual([
    422,
    ["/cpu/1: additional property 'toString' is not allowed"],
  ]);
});

describe('a body that mixes both spellings is a 422 that names both', () => {
  test.each([
    [
      { ...MINIMAL, type: 'QUEUE_BASED' },
      "/type: 'QUEUE_BASED' is the spelling of revision 2026-07; in revision 2026-08 it is 'QUEUE'",
    ],
    [
      { ...MINIMAL, scaling: { ...MINIMAL.scaling, value: 4 } },
      '/scaling/value: the spelling of revision 2026-07; in revision 2026-08 it is /scaling/queueDelay or /scaling/requestCount',
    ],
    [
      { ...MINIMAL, workers: { idleTimeout: 5 }, scaling: { ...MINIMAL.scaling, idleTimeout: 5 } },
      '/scaling/idleTimeout: the spelling of revision 2026-07; in revision 2026-08 it is /workers/idleTimeout',
    ],
  ])('sent to the newer revision: %j', async (body, error) => {
    for (const response of [await create(body), await update(await made(MINIMAL), body)]) {
      expect(response.statusCode).toBe(422);
      expect(response.json().errors).toContain(error);
    }
  });

  test.each([
    [{ type: 'QUEUE' }, "/type: 'QUEUE' is the spelling of revision 2026-08; in revision 2026-07 it is 'QUEUE_BASED'"],
    [
      { scaling: { type: 'QUEUE_DELAY', value: 4, queueDelay: 4 } },
      '/scaling/queueDelay: the spelling of revision 2026-08; in revision 2026-07 it is /scaling/value',
    ],
    [
      { gpu: { pools: ['ADA_24'], minCudaVersion: '12.4' } },
      '/gpu/minCudaVersion: only revision 2026-08 has it: send the body to /2026-08/v2',
    ],
    [{ cpu: CPU.cpu }, '/cpu/0: only revision 2026-08 has it: send the body to /2026-08/v2'],
    [
      { scaling: { idleTimeout: 5 }, workers: { idleTimeout: 5 } },
      '/workers/idleTimeout: the spelling of revision 2026-08; in revision 2026-07 it is /scaling/idleTimeout',
    ],
  ])('sent to the older revision: %j', async (change, error) => {
    const body = { name: 'x', image: 'i', gpu: { pools: ['ADA_24'] }, ...change };
    const response = await rest.call('POST', OLD, { key: rest.alice.key, body });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toContain(error);
  });
});

describe('update', () => {
  let id: string;
  beforeEach(async () => {
    id = await made({ ...MINIMAL, gpu: { pools: ['AMPERE_24'], count: 2, excludedTypes: ['NVIDIA L4'] } });
  });
  const changed = async (body: unknown) => {
    const response = await update(id, body);
    expect([response.statusCode, response.body]).toEqual([200, expect.anything()]);
    expect(await read(id)).toEqual(response.json());
    return response.json();
  };

  test('scaling is replaced as a whole; both members are required', async () => {
    expect((await changed({ scaling: { type: 'QUEUE_DELAY', queueDelay: 0.5 } })).scaling).toEqual({
      type: 'QUEUE_DELAY',
      queueDelay: 0.5,
    });
    expect((await update(id, { scaling: { queueDelay: 1 } })).statusCode).toBe(422);
    expect((await update(id, { scaling: { type: 'QUEUE_DELAY' } })).statusCode).toBe(422);
    expect((await update(id, { type: 'QUEUE' })).json().errors).toEqual([
      "$: additional property 'type' is not allowed",
    ]);
  });

  test('a queue that scales on requests hides its idle timeout and refuses another, but keeps it', async () => {
    await changed({ workers: { idleTimeout: 77 } });
    const { workers } = await changed({ scaling: { type: 'REQUEST_COUNT', requestCount: 3 } });
    expect(workers).toEqual({ min: 0, max: 3 });
    const refused = await update(id, { workers: { idleTimeout: 5 } });
    expect([refused.statusCode, refused.json().errors]).toEqual([
      422,
      [
        '/workers/idleTimeout: must be left out: this endpoint is a QUEUE that scales on REQUEST_COUNT, which has no idle timeout',
      ],
    ]);
    const back = await changed({ scaling: MINIMAL.scaling });
    expect(back.workers.idleTimeout).toBe(77);
    const together = { scaling: { type: 'REQUEST_COUNT', requestCount: 3 }, workers: { idleTimeout: 5 } };
    expect((await update(id, together)).statusCode).toBe(422);
    expect((await changed({ scaling: MINIMAL.scaling, workers: { idleTimeout: 5 } })).workers.idleTimeout).toBe(5);
  });

  test('a load balancer takes an idle timeout, but no queue delay', async () => {
    id = await made(BALANCED);
    expect((await changed({ workers: { idleTimeout: 3600 } })).workers.idleTimeout).toBe(3600);
    const refused = await update(id, { scaling: MINIMAL.scaling });
    expect([refused.statusCode, refused.json().errors]).toEqual([
      422,
      ['/scaling/type: must be REQUEST_COUNT: this endpoint is a LOAD_BALANCER'],
    ]);
  });

  test('the members of gpu are merged; pools clear the excluded types, empty values clear theirs', async () => {
    expect((await changed({ gpu: { count: 3 } })).gpu).toMatchObject({ count: 3, excludedTypes: ['NVIDIA L4'] });
    expect((await changed({ gpu: { minCudaVersion: '12.4' } })).gpu).toMatchObject({
      count: 3,
      minCudaVersion: '12.4',
    });
    expect((await changed({ gpu: { pools: ['AMPERE_24'] } })).gpu).toEqual({
      pools: ['AMPERE_24'],
      count: 3,
      allowedCudaVersions: [],
      minCudaVersion: '12.4',
    });
    expect((await changed({ gpu: { minCudaVersion: '' } })).gpu.minCudaVersion).toBeNull();
    expect((await changed({ gpu: { allowedCudaVersions: ['12.8'] } })).gpu.allowedCudaVersions).toEqual(['12.8']);
    expect((await changed({ gpu: { allowedCudaVersions: [] } })).gpu.allowedCudaVersions).toEqual([]);
    const gpu = { pools: ['AMPERE_24'], excludedTypes: ['NVIDIA L4'] };
    expect((await changed({ gpu })).gpu.excludedTypes).toEqual(['NVIDIA L4']);
    expect((await update(id, { gpu: { excludedTypes: [] } })).json().errors).toEqual([
      "/gpu: must have required property 'pools'",
    ]);
  });

  test('the two CUDA rules exclude each other, also one after the other', async () => {
    await changed({ gpu: { minCudaVersion: '12.4' } });
    expect((await update(id, { gpu: { allowedCudaVersions: ['12.8'] } })).statusCode).toBe(400);
    const swapped = await changed({ gpu: { allowedCudaVersions: ['12.8'], minCudaVersion: '' } });
    expect(swapped.gpu).toMatchObject({ allowedCudaVersions: ['12.8'], minCudaVersion: null });
  });

  test('an endpoint with both CUDA rules, which other interfaces allow, can still be changed', async () => {
    const rule = { allowedCudaVersions: ['12.8'], minCudaVersion: '12.4', excludedGpuTypes: [] };
    const put = { key: rest.alice.key, body: rule };
    expect((await rest.call('PUT', `${OLD}/${id}/gpu-rule`, put)).statusCode).toBe(200);
    expect((await changed({ gpu: { count: 1 } })).gpu).toMatchObject({ count: 1, minCudaVersion: '12.4' });
  });

  test('cpu replaces the selection of a CPU endpoint; the family is fixed', async () => {
    expect((await update(id, { cpu: CPU.cpu })).statusCode).toBe(400);
    id = await made(CPU);
    const cpu = [{ id: 'cpu3g', vcpuCount: 4 }];
    expect((await changed({ cpu })).cpu).toEqual([{ ...cpu[0], memory: expect.any(Number) }]);
    expect((await update(id, { gpu: { count: 1 } })).statusCode).toBe(400);
    expect((await update(id, { gpu: { count: 1 }, cpu })).statusCode).toBe(400);
    expect((await changed({ name: 'renamed' })).name).toBe('renamed');
  });

  test('null is refused where a field is not nullable, and clears the registry', async () => {
    expect((await update(id, { name: null })).statusCode).toBe(422);
    expect((await changed({ registry: null })).registry).toBeNull();
    expect(await changed({})).toMatchObject({ name: 'hello' });
  });
});

describe('what one revision cannot show is kept when the other writes other fields', () => {
  test('by the newer one: fractions and idle timeouts outside its range', async () => {
    const body = {
      name: 'x',
      image: 'i',
      gpu: { pools: ['ADA_24'] },
      type: 'LOAD_BALANCING',
      scaling: { type: 'REQUEST_COUNT', value: 2.5, idleTimeout: 0 },
    };
    const { id } = (await rest.call('POST', OLD, { key: rest.alice.key, body })).json();
    expect(await read(id)).toMatchObject({ scaling: { requestCount: 3 }, workers: { idleTimeout: 1 } });
    await update(id, { name: 'y', workers: { max: 4 }, timeout: 5 });
    expect(await read(id, OLD)).toMatchObject({ name: 'y', workers: { min: 0, max: 4 }, scaling: body.scaling });
    await update(id, { workers: { idleTimeout: 30 } });
    expect((await read(id, OLD)).scaling).toEqual({ type: 'REQUEST_COUNT', value: 2.5, idleTimeout: 30 });
    await updateOld(id, { scaling: { idleTimeout: 100_000 } });
    expect((await read(id)).workers.idleTimeout).toBe(3600);
    await update(id, { scaling: { type: 'REQUEST_COUNT', requestCount: 7 } });
    expect((await read(id, OLD)).scaling).toEqual({ type: 'REQUEST_COUNT', value: 7, idleTimeout: 100_000 });
  });

  test('whatever other interfaces store is shown, as the nearest value', async () => {
    const id = await made(BALANCED);
    const set = (columns: string, ...values: unknown[]) =>
      rest.database.pool.query(`update endpoints set ${columns} where id = $1`, [id, ...values]);
    await updateOld(id, { scaling: { value: 1e21 }, env: { HEALTH_CHECK_PATH: '/a|b"^%zz' } });
    const shown = await read(id);
    expect(shown.scaling.requestCount).toBe(Number.MAX_SAFE_INTEGER);
    expect(shown.requestUrls.health).toBe(`${shown.requestUrls.base}/a|b"^%zz`);
    await set('scaler_value = 0');
    expect((await read(id)).scaling).toEqual({ type: 'REQUEST_COUNT', requestCount: 1 });
    await set("scaler_type = 'QUEUE_DELAY'");
    expect((await read(id)).scaling).toEqual({ type: 'QUEUE_DELAY', queueDelay: 0.5 });
    const put = { excludedGpuTypes: [], allowedCudaVersions: ['12', '12.8.1'], minCudaVersion: '12' };
    await rest.call('PUT', `${OLD}/${id}/gpu-rule`, { key: rest.alice.key, body: put });
    const { gpu } = await read(id);
    expect(gpu).toMatchObject({ allowedCudaVersions: ['12', '12.8.1'], minCudaVersion: '12' });
    expect((await listed(id)).gpu).toEqual(gpu);
  });

  test('by the older one: GPU rules', async () => {
    const gpu = {
      pools: ['AMPERE_24'],
      count: 1,
      excludedTypes: ['NVIDIA L4'],
      allowedCudaVersions: ['12.8'],
      minCudaVersion: null,
    };
    const { minCudaVersion: _none, ...given } = gpu;
    const id = await made({ ...MINIMAL, gpu: given });
    await updateOld(id, { name: 'y', scaling: { value: 9 }, workers: { max: 2 } });
    expect(await read(id)).toMatchObject({ gpu, scaling: { queueDelay: 9 }, workers: { max: 2, idleTimeout: 10 } });
    await updateOld(id, { gpu: { pools: ['AMPERE_24'], count: 4 } });
    expect((await read(id)).gpu).toEqual({ ...gpu, count: 4 });
    expect((await read(id, OLD)).gpu).toEqual({ pools: ['AMPERE_24'], count: 4 });
  });

  test('the older one changes no CPU endpoint', async () => {
    const id = await made(CPU);
    const refused = await updateOld(id, { name: 'y' });
    expect([refused.statusCode, refused.json().detail]).toEqual([400, expect.stringContaining('2026-08')]);
  });
});

describe('templates', () => {
  let count = 0;
  const template = async (more: object = {}, key = rest.alice.key): Promise<string> => {
    const body = {
      name: `t${count++}`,
      image: 'from/template:1',
      env: { A: '1', B: '2' },
      serverless: true,
      disk: 7,
      ...more,
    };
    return (await rest.call('POST', '/v2/templates', { key, body })).json().id;
  };
  const allow = (id: string, versions: string[]) =>
    rest.database.pool.query('update templates set allowed_cuda_versions = $2 where id = $1', [id, versions]);

  test('a create takes the template’s container fields; the body wins, env is merged by name', async () => {
    const { image: _image, ...body } = MINIMAL;
    const endpoint = await read(await made({ ...body, templateId: await template(), env: { B: '3' }, disk: 9 }));
    expect(endpoint).toMatchObject({ image: 'from/template:1', env: { A: '1', B: '3' }, disk: 9 });
  });

  test('the template’s CUDA versions count unless the body has a rule of its own', async () => {
    const templateId = await template();
    await allow(templateId, ['12.8']);
    const of = async (gpu: object) => (await read(await made({ ...MINIMAL, templateId, gpu }))).gpu;
    expect(await of({ pools: ['ADA_24'] })).toMatchObject({ allowedCudaVersions: ['12.8'], minCudaVersion: null });
    expect(await of({ pools: ['ADA_24'], minCudaVersion: '12.4' })).toMatchObject({
      allowedCudaVersions: [],
      minCudaVersion: '12.4',
    });
    expect(await of({ pools: ['ADA_24'], allowedCudaVersions: [] })).toMatchObject({ allowedCudaVersions: ['12.8'] });
    expect((await create({ ...CPU, templateId })).statusCode).toBe(201);
  });

  test('an unknown template is a 404, like another user’s private one; one for pods is a 422', async () => {
    const id = await made(MINIMAL);
    const foreign = await template({}, rest.bob.key);
    const forPods = await template({ serverless: false });
    for (const send of [(body: object) => create({ ...MINIMAL, ...body }), (body: object) => update(id, body)]) {
      for (const templateId of ['nosuch', foreign]) {
        const response = await send({ templateId });
        expect([response.statusCode, response.json().detail]).toEqual([
          404,
          `templateId: there is no template '${templateId}'`,
        ]);
      }
      const response = await send({ templateId: forPods });
      expect([response.statusCode, response.json().errors]).toEqual([
        422,
        [`/templateId: template '${forPods}' is not a serverless template`],
      ]);
    }
  });

  test('an update copies the container fields once; env is the template’s with the body’s, and replaces', async () => {
    const id = await made({ ...MINIMAL, env: { OWN: 'x' }, args: 'serve', ports: ['80/http'] });
    const templateId = await template();
    const endpoint = (await update(id, { templateId, env: { B: '3', C: '4' }, disk: 30 })).json();
    expect(endpoint).toMatchObject({
      image: 'from/template:1',
      env: { A: '1', B: '3', C: '4' },
      disk: 30,
      args: '',
      ports: [],
    });
    const change = { key: rest.alice.key, body: { image: 'from/template:2' } };
    await rest.call('PATCH', `/v2/templates/${templateId}`, change);
    expect((await read(id)).image).toBe('from/template:1');
    expect((await update(id, { templateId })).json()).toMatchObject({
      image: 'from/template:2',
      env: { A: '1', B: '2' },
    });
  });
});

describe('builds', () => {
  test('the list is empty, a build and its logs are 404', async () => {
    const id = await made(MINIMAL);
    const get = (path: string, key = rest.alice.key) => rest.call('GET', `${NEW}/${path}`, { key });
    expect((await get(`${id}/builds`)).json()).toEqual({ builds: [] });
    for (const path of [`${id}/builds/b1`, `${id}/builds/b1/logs`]) {
      const response = await get(path);
      expect([response.statusCode, response.json().detail]).toEqual([404, 'Build not found']);
    }
    expect((await get('nosuch/builds')).body).toBe((await get(`${id}/builds`, rest.bob.key)).body);
    expect((await get(`${id}/builds`, await rest.keyFor(rest.alice, 'pods:read'))).statusCode).toBe(403);
    expect((await rest.call('GET', `${OLD}/${id}/builds`, { key: rest.alice.key })).statusCode).toBe(404);
  });
});

test('a roll-back answers in the revision of its path', async () => {
  const id = await made(MINIMAL);
  await update(id, { image: 'other:2' });
  const { releases } = (await rest.call('GET', `${NEW}/${id}/releases`, { key: rest.alice.key })).json();
  const path = `/${id}/releases/${releases[1].id}/rollback`;
  const endpoint = (await rest.call('POST', `${NEW}${path}`, { key: rest.alice.key })).json();
  expect(endpoint).toMatchObject({ type: 'QUEUE', image: 'podyard/echo:1' });
});
