import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cpuPod, GIB, GPU, minimal, PATH, podRequests, startPodApp, stock } from '../../../test/pod-requests.ts';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startPodApp();
});
afterAll(() => rest.close());

const { create, createId, get, read, update, act, remove, createVolume, createTemplate, observe } = podRequests(
  () => rest,
);

describe('a create', () => {
  test('with the required fields returns 201 with the whole record and every default', async () => {
    const response = await create(minimal);
    expect(response.statusCode).toBe(201);
    const { id, createdAt, ...others } = response.json();
    expect(id).toMatch(/^[a-z][a-z0-9]+$/);
    expect(Date.parse(createdAt)).toBeGreaterThan(0);
    expect(others).toEqual({
      name: 'least',
      status: 'PROVISIONING',
      actions: ['stop', 'terminate'],
      image: 'podyard/echo:1',
      args: '',
      disk: 20,
      ports: [],
      env: {},
      registry: null,
      gpu: { id: GPU, count: 1 },
      mounts: {},
      cloud: 'SECURE',
      dataCenterId: 'LOCAL-1',
      template: null,
      cost: 0.59,
      locked: false,
      globalNetworking: { enabled: false },
      runtime: null,
      ssh: { proxy: null, direct: null },
      cudaVersion: '12.8',
      startedAt: null,
    });
    expect(await read(id)).toEqual(response.json());
  });

  test('keeps every given field', async () => {
    const given = {
      name: 'full',
      image: 'a/b:1',
      args: 'serve',
      disk: 7,
      ports: ['80/http', '22/tcp'],
      env: { A: '1', TOKEN: '{{ RUNPOD_SECRET_token }}' },
      gpu: { id: GPU, count: 2 },
      mounts: { persistent: { size: 10, path: '/workspace' } },
      cloud: 'COMMUNITY',
    };
    const response = await create({ ...given, dataCenterIds: ['LOCAL-1'], globalNetworking: true });
    expect(response.statusCode).toBe(201);
    expect(response.json()).toMatchObject(given);
    expect(response.json().cost).toBe(0.68);
    const { globalNetworking, id } = response.json();
    expect(globalNetworking).toEqual({ enabled: true, internalDns: `${id}.runpod.internal` });
  });

  test('of a CPU pod has the memory of its flavor, and no gpu', async () => {
    const response = await create(cpuPod);
    expect(response.statusCode).toBe(201);
    expect(response.json().cpu).toEqual({ id: 'cpu3c', vcpuCount: 2, memory: 4 });
    expect(response.json()).not.toHaveProperty('gpu');
    expect(response.json().cost).toBe(0.06);
  });

  test.each([
    ['name', { name: '' }, '/name: must NOT have fewer than 1 characters'],
    ['a missing image', { image: undefined }, "$: must have required property 'image'"],
    ['gpu.count', { gpu: { id: GPU, count: 0 } }, '/gpu/count: must be >= 1'],
    ['gpu pools', { gpu: { id: GPU, pools: [] } }, "/gpu: additional property 'pools' is not allowed"],
    ['too few vCPUs', { gpu: undefined, cpu: { id: 'cpu3c', vcpuCount: 1 } }, '/cpu/vcpuCount: must be >= 2'],
    [
      'no CPU flavor',
      { gpu: undefined, cpu: { id: '', vcpuCount: 2 } },
      '/cpu/id: must NOT have fewer than 1 characters',
    ],
    ['cloud', { cloud: 'ALL' }, '/cloud: must be one of SECURE, COMMUNITY'],
    ['a third kind of mount', { mounts: { host: '/' } }, "/mounts: additional property 'host' is not allowed"],
    [
      'too little storage',
      { mounts: { persistent: { size: 9, path: '/w' } } },
      '/mounts/persistent/size: must be >= 10',
    ],
    [
      'two volumes',
      { mounts: { network: [1, 2].map(() => ({ volumeId: 'v', path: '/v' })) } },
      '/mounts/network: must NOT have more than 1 items',
    ],
    [
      'half a volume',
      { mounts: { network: [{ volumeId: 'v' }] } },
      "/mounts/network/0: must have required property 'path'",
    ],
    ['a port', { ports: ['0/http'] }, expect.stringMatching(/^\/ports\/0: must match pattern/)],
    ['an unknown property', { locked: true }, "$: additional property 'locked' is not allowed"],
  ])('with a schema failure in %s is a 422 that names its place', async (_, change, error) => {
    const response = await create({ ...minimal, ...change });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([error]);
  });

  test.each([
    ['both gpu and cpu', { cpu: cpuPod.cpu }, 'gpu, cpu: exactly one of them is required'],
    ['neither gpu nor cpu', { gpu: undefined }, 'gpu, cpu: exactly one of them is required'],
    [
      'an unknown GPU type',
      { gpu: { id: 'ADA_24' } },
      "gpu.id: there is no GPU type 'ADA_24'. It is a GPU pool, with the types 'NVIDIA GeForce RTX 4090'",
    ],
    [
      'an unknown flavor',
      { gpu: undefined, cpu: { id: 'cpu9', vcpuCount: 2 } },
      "cpu.id: there is no CPU flavor 'cpu9'",
    ],
    [
      'vCPUs that are no power of two',
      { gpu: undefined, cpu: { id: 'cpu3c', vcpuCount: 6 } },
      'cpu.vcpuCount: must be a power of two from 1 to 32 for cpu3c',
    ],
    [
      'more vCPUs than the flavor has',
      { gpu: undefined, cpu: { id: 'cpu3c', vcpuCount: 64 } },
      'cpu.vcpuCount: must be a power of two from 1 to 32 for cpu3c',
    ],
    ['an unknown data center', { dataCenterIds: ['MOON-1'] }, "dataCenterIds: there is no data center 'MOON-1'"],
    ['an unknown registry', { registry: 'r1' }, "registry: there is no registry 'r1'"],
    ['a port listed twice', { ports: ['1/tcp', '1/tcp'] }, "ports: '1/tcp' is listed more than once"],
    [
      'eleven HTTP ports',
      { ports: Array.from({ length: 11 }, (_, i) => `${8000 + i}/http`) },
      'ports: 11 HTTP ports are listed, but at most 10 are allowed',
    ],
    [
      'both kinds of mount',
      { mounts: { persistent: { size: 10, path: '/w' }, network: [{ volumeId: 'v', path: '/v' }] } },
      'mounts: a pod has at most one of persistent and network',
    ],
    [
      'storage of its own on a CPU pod',
      { gpu: undefined, cpu: cpuPod.cpu, mounts: { persistent: { size: 10, path: '/w' } } },
      'mounts.persistent: a CPU pod cannot have persistent storage',
    ],
    [
      'an unknown volume',
      { mounts: { network: [{ volumeId: 'v', path: '/v' }] } },
      "mounts.network: there is no network volume 'v'",
    ],
    ['an unknown template', { templateId: 't' }, "templateId: there is no template 't'"],
  ])('with %s is a 400', async (_, change, detail) => {
    const response = await create({ ...minimal, ...change });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual({ title: 'Bad Request', status: 400, detail });
  });

  test.each([
    ['GPUs of a type that is not there', { gpu: { id: 'NVIDIA A40' } }],
    ['more GPUs than are on one machine', { gpu: { id: GPU, count: 1_001 } }],
    ['a data center that has none', { dataCenterIds: ['EU-RO-1'] }],
    ['more vCPUs than the machine has', { gpu: undefined, cpu: { id: 'cpu3c', vcpuCount: 16 } }],
  ])('without capacity (%s) is a 400 whose detail clients know', async (_, change) => {
    const response = await create({ ...minimal, ...change });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toMatch(/^There are no longer any instances available/);
  });

  test('places the pod in its volume’s data center', async () => {
    const here = await createVolume();
    const mounts = { network: [{ volumeId: here, path: '/data' }] };
    expect((await create({ ...minimal, mounts })).json()).toMatchObject({ mounts, dataCenterId: 'LOCAL-1' });
    const elsewhere = { network: [{ volumeId: await createVolume('EU-RO-1'), path: '/data' }] };
    const refused = await create({ ...minimal, mounts: elsewhere, dataCenterIds: ['LOCAL-1'] });
    expect(refused.statusCode).toBe(400);
    expect(refused.json().detail).toMatch(/is in EU-RO-1, which dataCenterIds does not list$/);
    const noCapacity = await create({ ...minimal, mounts: elsewhere });
    expect(noCapacity.json().detail).toMatch(/^There are no longer any instances available/);
  });

  test("with another user's volume or registry is the same 400 as with a missing one", async () => {
    const volumeId = await createVolume('LOCAL-1', rest.bob.key);
    const response = await create({ ...minimal, mounts: { network: [{ volumeId, path: '/v' }] } });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toBe(`mounts.network: there is no network volume '${volumeId}'`);
  });

  test('from a template copies its container and mount; the request’s values win, env by name', async () => {
    const mounts = { persistent: { size: 10, path: '/workspace' } };
    const templateId = await createTemplate({ env: { A: '1', B: '2' }, disk: 7, mounts });
    const { image: _, ...body } = minimal;
    const pod = (await create({ ...body, templateId, env: { B: '3' } })).json();
    expect(pod).toMatchObject({
      image: 'from/template:1',
      env: { A: '1', B: '3' },
      disk: 7,
      mounts,
      template: templateId,
    });
    expect((await create({ ...body, templateId, mounts: {} })).json().mounts).toEqual({});
    expect((await create({ ...cpuPod, templateId })).json().mounts).toEqual({});
    const serverless = await create({ ...minimal, templateId: await createTemplate({ serverless: true }) });
    expect(serverless.statusCode).toBe(400);
    expect(serverless.json().detail).toMatch(/is a serverless template, not one for pods$/);
  });

  test('requires of driver and machine what it names; what no machine has is no capacity', async () => {
    const of = async (gpu: object, more: object = {}) => {
      const response = await create({ ...minimal, gpu: { id: GPU, ...gpu }, ...more });
      return [response.statusCode, response.statusCode === 201 ? response.json().gpu : response.json().detail];
    };
    const made = [201, { id: GPU, count: 1 }];
    expect(await of({ allowedCudaVersions: ['12.4', '12.8'] })).toEqual(made);
    expect(await of({ minCudaVersion: '12.6', minRamPerGpu: 32, minVcpuCountPerGpu: 8 })).toEqual(made);
    expect(await of({ minRamPerGpu: 256, minVcpuCountPerGpu: 64 })).toEqual(made); // all that the machine has
    const none = /^There are no longer any instances available/;
    const refused: [object, string][] = [
      [{ allowedCudaVersions: ['12.4'] }, ', but the drivers support 12.8'],
      [{ minCudaVersion: '12.10' }, ', but the drivers support 12.8'],
      [{ minRamPerGpu: 257 }, 'but a machine has 256 GB of memory of the 257 that are needed'],
      [{ minVcpuCountPerGpu: 65 }, 'but a machine has 64 CPUs of the 65 that are needed'],
      [{ count: 2, minVcpuCountPerGpu: 33 }, 'but a machine has 64 CPUs of the 66 that are needed'],
    ];
    for (const [gpu, why] of refused) {
      const [status, detail] = await of(gpu);
      expect([gpu, status, detail]).toEqual([gpu, 400, expect.stringMatching(none)]);
      expect(detail).toContain(why);
    }
    const both = await of({ minCudaVersion: '12.8', allowedCudaVersions: ['12.8'] });
    expect(both).toEqual([400, 'gpu.allowedCudaVersions, gpu.minCudaVersion: only one of them can be given']);
    expect((await create({ ...minimal, gpu: { id: GPU, minCudaVersion: 'new' } })).statusCode).toBe(422);
    expect((await create({ ...minimal, gpu: { id: GPU, minRamPerGpu: 0 } })).statusCode).toBe(422);

    const templateId = await createTemplate({ allowedCudaVersions: ['12.4'] });
    expect(await of({}, { templateId })).toEqual([400, expect.stringMatching(none)]);
    expect(await of({ minCudaVersion: '12.4' }, { templateId })).toEqual(made);
    expect(await of({ allowedCudaVersions: [] }, { templateId })).toEqual(made);
  });

  test('from a template inherits startSsh and startJupyter, which the request overrides and no answer shows', async () => {
    const templateId = await createTemplate({ startSsh: false, startJupyter: true });
    const wanted = async (more: object) => {
      const response = await create({ ...minimal, ...more });
      expect(Object.keys(response.json()).filter((name) => name.startsWith('start'))).toEqual(['startedAt']);
      const text = 'select start_ssh as ssh, start_jupyter as jupyter from pods where id = $1';
      return (await rest.database.pool.query(text, [response.json().id])).rows[0];
    };
    expect(await wanted({})).toEqual({ ssh: true, jupyter: false });
    expect(await wanted({ templateId })).toEqual({ ssh: false, jupyter: true });
    expect(await wanted({ templateId, startSsh: true, startJupyter: false })).toEqual({ ssh: true, jupyter: false });
    expect(await wanted({ startSsh: false, startJupyter: true })).toEqual({ ssh: false, jupyter: true });
  });

  test('from a built-in template', async () => {
    const { image: _, ...body } = cpuPod;
    const pod = (await create({ ...body, templateId: 'runpod-ubuntu' })).json();
    expect(pod).toMatchObject({ image: 'runpod/base:1.0.2-ubuntu2204', disk: 10, template: 'runpod-ubuntu' });
    expect((await create({ ...cpuPod, templateId: 'runpod-ubuntu' })).json().image).toBe(cpuPod.image);
  });

  test('of concurrent requests for the last GPUs, one gets them', async () => {
    const scarce = await startRestApp({
      capacity: { read: async () => ({ ...stock, gpus: [{ ...stock.gpus[0]!, total: 3, free: 3 }] }) },
    });
    const body = { ...minimal, gpu: { id: GPU, count: 2 } };
    const answers = await Promise.all(
      [scarce.alice, scarce.bob, scarce.alice, scarce.bob].map(({ key }) => scarce.call('POST', PATH, { key, body })),
    );
    expect(answers.map((answer) => answer.statusCode).toSorted()).toEqual([201, 400, 400, 400]);
    await scarce.close();
  });
});

describe('the status', () => {
  test.each([
    ['PROVISIONING', ['stop', 'terminate']],
    ['STARTING', ['stop', 'terminate']],
    ['RUNNING', ['stop', 'restart', 'terminate']],
    ['EXITED', ['start', 'terminate']],
    ['ERROR', ['start', 'terminate']],
  ])('%s allows %s and refuses everything else with 409', async (status, actions) => {
    const id = await createId();
    if (status === 'EXITED') await act(id, 'stop');
    await observe(id, status);
    expect(await read(id)).toMatchObject({ status, actions });
    for (const action of ['start', 'stop', 'restart'].filter((each) => !actions.includes(each))) {
      const response = await act(id, action);
      expect(response.statusCode).toBe(409);
      const detail = `${action} is not possible: the pod is ${status}; possible actions: ${actions.join(', ')}`;
      expect(response.json()).toEqual({ title: 'Conflict', status: 409, detail });
    }
  });

  test('is EXITED at once after a stop, at no cost, and STARTING or PROVISIONING after a start', async () => {
    const id = await createId();
    await observe(id, 'RUNNING');
    const stopped = await act(id, 'stop');
    expect(stopped.statusCode).toBe(200);
    expect(stopped.json()).toMatchObject({ status: 'EXITED', actions: ['start', 'terminate'], cost: 0, runtime: null });
    const started = await act(id, 'start');
    expect(started.statusCode).toBe(200);
    expect(started.json()).toMatchObject({ status: 'STARTING', cost: 0.59 }); // its old container still exists
    await observe(id, 'EXITED');
    await act(id, 'stop');
    expect((await act(id, 'start')).json().status).toBe('PROVISIONING');
  });

  test('RUNNING with a published port 22 shows how to connect; stopped, it no longer does', async () => {
    const id = await createId({ ports: ['22/tcp'] });
    expect((await read(id)).ssh).toEqual({ proxy: null, direct: null });
    await observe(id, 'RUNNING');
    const direct = { host: '127.0.0.1', port: 32768, username: 'root', command: 'ssh root@127.0.0.1 -p 32768' };
    expect((await read(id)).ssh).toEqual({ proxy: null, direct });
    const { pool } = rest.database;
    for (const port of [
      '{"private": 22, "public": null, "type": "tcp", "ip": null}',
      '{"private": 22, "public": 1, "type": "http", "ip": "127.0.0.1"}',
    ]) {
      await pool.query('update pods set published_ports = $2 where id = $1', [id, `[${port}]`]);
      expect((await read(id)).ssh.direct).toBeNull();
    }
    await observe(id, 'RUNNING');
    expect((await act(id, 'stop')).json().ssh.direct).toBeNull();
  });

  test('RUNNING shows live figures and published ports', async () => {
    const id = await createId({ globalNetworking: true });
    await observe(id, 'RUNNING');
    const { runtime, globalNetworking, startedAt } = await read(id);
    expect(runtime).toEqual({
      uptime: expect.any(Number),
      gpus: [{ util: 87, memoryUtil: 41 }],
      cpu: { util: 12.5 },
      memory: { util: 33 },
      ports: [{ private: 22, public: 32768, type: 'tcp', ip: '127.0.0.1' }],
    });
    expect(runtime.uptime).toBeGreaterThanOrEqual(60);
    expect(globalNetworking).toEqual({ enabled: true, internalDns: `${id}.runpod.internal` });
    expect(Date.parse(startedAt)).toBeGreaterThan(0);
  });

  test('of a restarted pod is STARTING', async () => {
    const id = await createId();
    await observe(id, 'RUNNING');
    const response = await act(id, 'restart');
    expect(response.statusCode).toBe(200);
    expect(response.json().status).toBe('STARTING');
  });
});

describe('a start', () => {
  test('without capacity is a 400, and the pod stays EXITED', async () => {
    const free = { gpus: [{ ...stock.gpus[0]!, total: 1, free: 1 }], cpus: 8, memoryBytes: GIB };
    const scarce = await startRestApp({ capacity: { read: async () => free } });
    const { key } = scarce.alice;
    const { id } = (await scarce.call('POST', PATH, { key, body: minimal })).json();
    await scarce.call('POST', `${PATH}/${id}/action`, { key, body: { action: 'stop' } });
    expect((await scarce.call('POST', PATH, { key, body: minimal })).statusCode).toBe(201);
    const refused = await scarce.call('POST', `${PATH}/${id}/action`, { key, body: { action: 'start' } });
    expect(refused.statusCode).toBe(400);
    expect(refused.json().detail).toMatch(/^There are no longer any instances available/);
    expect((await scarce.call('GET', `${PATH}/${id}`, { key })).json().status).toBe('EXITED');
    await scarce.close();
  });
});

describe('a lock', () => {
  test('rejects only stop and restart', async () => {
    const id = await createId();
    await observe(id, 'RUNNING');
    expect((await update(id, { locked: true })).json()).toMatchObject({ locked: true, actions: ['terminate'] });
    for (const action of ['stop', 'restart']) {
      const response = await act(id, action);
      expect(response.statusCode).toBe(409);
      expect(response.json().detail).toMatch(/the pod is RUNNING and locked/);
    }
    expect((await update(id, { locked: false })).json().actions).toEqual(['stop', 'restart', 'terminate']);
    await update(id, { locked: true });
    expect((await act(id, 'terminate')).statusCode).toBe(204);
  });
});

describe('a terminated pod', () => {
  test.each(['DELETE', 'action'])('(%s) is a 204, and not found from then on', async (way) => {
    const id = await createId();
    const response = await (way === 'DELETE' ? remove(id) : act(id, 'terminate'));
    expect(response.statusCode).toBe(204);
    expect(response.body).toBe('');
    const list = (await rest.call('GET', PATH, { key: rest.alice.key })).json().pods;
    expect(list.map((pod: { id: string }) => pod.id)).not.toContain(id);
    const logs = await rest.call('GET', `${PATH}/${id}/logs`, { key: rest.alice.key });
    for (const answer of [await get(id), await remove(id), await act(id, 'start'), await update(id, {}), logs]) {
      expect(answer.statusCode).toBe(404);
      expect(answer.json().detail).toBe('Pod not found');
    }
  });
});

test('a volume, a registry and a template cannot be deleted while a pod uses them', async () => {
  const { key } = rest.alice;
  const volumeId = await createVolume();
  const body = { name: 'r', username: 'u', password: 'p' };
  const registry = (await rest.call('POST', '/v2/registries', { key, body })).json().id;
  const templateId = await createTemplate({});
  const id = await createId({ name: 'user', mounts: { network: [{ volumeId, path: '/v' }] }, registry, templateId });
  const drop = async (path: string) => rest.call('DELETE', path, { key });
  const details = [
    (await drop(`/v2/network-volumes/${volumeId}`)).json().detail,
    (await drop(`/v2/registries/${registry}`)).json().detail,
    (await drop(`/v2/templates/${templateId}`)).json().detail,
  ];
  expect(details).toEqual([
    "The network volume is mounted by pod 'user'.",
    "The registry is in use by pod 'user'.",
    'The template is in use by a pod.',
  ]);
  await remove(id);
  expect((await drop(`/v2/network-volumes/${volumeId}`)).statusCode).toBe(204);
  expect((await drop(`/v2/registries/${registry}`)).statusCode).toBe(204);
  expect((await drop(`/v2/templates/${templateId}`)).statusCode).toBe(204);
});

test('the log of a pod takes the same parameters as a worker’s', async () => {
  const log = async (query: string, headers = {}) =>
    (await rest.call('GET', `${PATH}/${await createId()}/logs${query}`, { key: rest.alice.key, headers })).statusCode;
  expect(await log('', { 'last-event-id': '17' })).toBe(400);
  expect(await log('?tail=5001')).toBe(422);
  expect(await log('?source=stdout')).toBe(422);
});

test('every operation needs a key with the permission; another user’s pod and a missing one are the same 404', async () => {
  const id = await createId();
  const reader = await rest.keyFor(rest.alice, 'pods:read');
  const other = await rest.keyFor(rest.alice, 'templates:write');
  const one = await rest.keyFor(rest.alice, `pods/${id}:write`);
  const operations = [
    ['GET', PATH, undefined, other],
    ['POST', PATH, minimal, reader],
    ['GET', `${PATH}/:id`, undefined, other],
    ['PATCH', `${PATH}/:id`, {}, reader],
    ['DELETE', `${PATH}/:id`, undefined, reader],
    ['POST', `${PATH}/:id/action`, { action: 'start' }, reader],
    ['GET', `${PATH}/:id/logs`, undefined, other],
  ] as const;
  for (const [method, path, body, weak] of operations) {
    const call = (target: string, key?: string) =>
      rest.call(method, path.replace(':id', target), { ...(key && { key }), ...(body && { body }) });
    expect((await call(id)).statusCode).toBe(401);
    expect((await call(id, weak)).statusCode).toBe(403);
    if (!path.includes(':id')) continue;
    const foreign = await call(id, rest.bob.key);
    const missing = await call('nosuchpod', rest.bob.key);
    expect(foreign.statusCode).toBe(404);
    expect(foreign.body).toBe(missing.body);
  }
  expect((await get(id, one)).statusCode).toBe(200);
  expect((await get(await createId(), one)).statusCode).toBe(403);
  const list = await rest.call('GET', PATH, { key: rest.bob.key });
  expect(list.json()).toEqual({ pods: [] });
});

test.each([{}, { action: 'pause' }, { action: 'stop', force: true }])('an action %j is a 422', async (body) => {
  const response = await rest.call('POST', `${PATH}/${await createId()}/action`, { key: rest.alice.key, body });
  expect(response.statusCode).toBe(422);
});
