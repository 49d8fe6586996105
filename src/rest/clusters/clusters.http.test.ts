import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { Stock } from '../../domain/catalog/capacity-source.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const stock: Stock = {
  gpus: [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 1_000, free: 1_000 }],
  cpus: 8,
  memoryBytes: 2 ** 35,
};

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => stock } });
});
afterAll(() => rest.close());

const PATH = '/v2/clusters';
const minimal = {
  name: 'training',
  type: 'TRAINING',
  image: 'podyard/echo:1',
  compute: { gpuTypeId: GPU, gpuCountPerPod: 1, podCount: 3 },
};
const create = (body: unknown, key = rest.alice.key) => rest.call('POST', PATH, { key, body });
const createId = async (more: object = {}): Promise<string> => (await create({ ...minimal, ...more })).json().id;
const get = (id: string, key = rest.alice.key) => rest.call('GET', `${PATH}/${id}`, { key });
const update = (id: string, body: unknown, key = rest.alice.key) => rest.call('PATCH', `${PATH}/${id}`, { key, body });
const remove = (id: string, key = rest.alice.key) => rest.call('DELETE', `${PATH}/${id}`, { key });
const pods = (id: string, key = rest.alice.key) => rest.call('GET', `${PATH}/${id}/pods`, { key });
const podsOf = async (id: string) => (await pods(id)).json().pods as { id: string; [name: string]: unknown }[];
/** Sets what control would have done and observed. */
async function place(id: string): Promise<void> {
  const { pool } = rest.database;
  await pool.query(
    `update pods set wanted = 'RUN', phase = 'RUNNING', phase_revision = revision, address = '10.0.0.7',
       cluster_ip = '198.18.4.' || (cluster_rank + 2),
       published_ports = '[{"private": 22, "public": 32768, "type": "tcp", "ip": "192.0.2.1"}]' where cluster_id = $1`,
    [id],
  );
  await pool.query(
    "update clusters set phase = 'RUNNING', data_center_id = 'LOCAL-1', cidr = '198.18.4.0/24' where id = $1",
    [id],
  );
}

describe('a create', () => {
  test('with the required fields returns 201 with the record: what is not known yet is left out', async () => {
    const response = await create(minimal);
    expect(response.statusCode).toBe(201);
    const { id, createdAt, primary, ...others } = response.json();
    expect(id).toMatch(/^[a-z][a-z0-9]{13}$/);
    expect(Date.parse(createdAt)).toBeGreaterThan(0);
    const { name, type, compute } = minimal;
    expect(others).toEqual({ name, type, compute, pods: { total: 3, byStatus: { PROVISIONING: 3 } } });
    const rows = await podsOf(id);
    expect(primary).toEqual({ podId: rows[0]!.id, status: 'PROVISIONING' });
    expect((await get(id)).json()).toEqual(response.json());
  });

  test('keeps what it is given, in each pod', async () => {
    const container = { image: 'a/b:1', args: 'serve', disk: 7, ports: ['80/http', '22/tcp'], env: { A: '1' } };
    const mounts = { persistent: { size: 10, path: '/workspace' } };
    const response = await create({ ...minimal, ...container, mounts, type: 'RAY', dataCenterIds: ['LOCAL-1'] });
    expect(response.statusCode).toBe(201);
    const rows = await podsOf(response.json().id);
    for (const [rank, pod] of rows.entries()) {
      expect(pod).toMatchObject({ ...container, mounts, name: `training-${rank}`, gpu: { id: GPU, count: 1 } });
      expect(pod).toMatchObject({ actions: [], cost: 0, registry: null, status: 'PROVISIONING' });
      const role = rank === 0 ? 'PRIMARY' : 'WORKER';
      expect(pod.cluster).toEqual({ id: response.json().id, rank, role, ip: null });
    }
  });

  test.each(['APPLICATION', 'TRAINING', 'SLURM', 'RAY'])('of type %s is kept', async (type) => {
    expect((await create({ ...minimal, type })).json()).toMatchObject({ type });
  });

  test('with 250 pods is one request', async () => {
    const response = await create({ ...minimal, compute: { ...minimal.compute, podCount: 250 } });
    expect(response.statusCode).toBe(201);
    expect(await podsOf(response.json().id)).toHaveLength(250);
    await remove(response.json().id);
  });

  test('takes the container settings and the mount of a template; its record names it', async () => {
    const template = { name: `t ${Math.random()}`, image: 'from/template:1', env: { A: '1', B: '2' } };
    const { id: templateId } = (
      await rest.call('POST', '/v2/templates', { key: rest.alice.key, body: template })
    ).json();
    const { image: _, ...body } = minimal;
    const response = await create({ ...body, templateId, env: { B: '3' } });
    expect(response.json()).toMatchObject({ template: templateId });
    expect((await podsOf(response.json().id))[2]).toMatchObject({ image: 'from/template:1', env: { A: '1', B: '3' } });
  });

  test.each([
    ['no name', { name: undefined }, "$: must have required property 'name'"],
    ['no type', { type: undefined }, "$: must have required property 'type'"],
    ['no compute', { compute: undefined }, "$: must have required property 'compute'"],
    ['neither image nor template', { image: undefined }, "$: must have required property 'image'"],
    ['another type', { type: 'DASK' }, '/type: must be one of APPLICATION, TRAINING, SLURM, RAY'],
    ['a registry', { registry: 'r' }, "$: additional property 'registry' is not allowed"],
    ['one pod', { compute: { ...minimal.compute, podCount: 1 } }, '/compute/podCount: must be >= 2'],
    ['251 pods', { compute: { ...minimal.compute, podCount: 251 } }, '/compute/podCount: must be <= 250'],
    ['no GPU', { compute: { ...minimal.compute, gpuCountPerPod: 0 } }, '/compute/gpuCountPerPod: must be >= 1'],
    [
      'more in compute',
      { compute: { ...minimal.compute, cpu: 1 } },
      "/compute: additional property 'cpu' is not allowed",
    ],
  ])('with %s is a 422 that names its place', async (_, change, error) => {
    const response = await create({ ...minimal, ...change });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual([error]);
  });

  const unknownGpu = { compute: { ...minimal.compute, gpuTypeId: 'X' } };
  test.each([
    ['an unknown GPU type', unknownGpu, "compute.gpuTypeId: there is no GPU type 'X'"],
    ['an unknown data center', { dataCenterIds: ['MOON-1'] }, "dataCenterIds: there is no data center 'MOON-1'"],
    ['an unknown template', { templateId: 't' }, "templateId: there is no template 't'"],
    ['a port listed twice', { ports: ['1/tcp', '1/tcp'] }, "ports: '1/tcp' is listed more than once"],
    [
      'more GPUs than there are',
      { compute: { ...minimal.compute, gpuCountPerPod: 8, podCount: 126 } },
      `There are no longer any instances available with what the pod needs: 8 × ${GPU} for each of 126 pods, all at once; not even if nothing else ran.`,
    ],
  ])('with %s is a 400', async (_, change, detail) => {
    const response = await create({ ...minimal, ...change });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual({ title: 'Bad Request', status: 400, detail });
  });

  test('over the limit on pods is a 403 with figures, and stores nothing', async () => {
    const carol = await rest.addPerson('carol');
    await rest.database.pool.query("insert into user_limits (user_id, name, value) values ($1, 'pods', 2)", [
      carol.userId,
    ]);
    const response = await create(minimal, carol.key);
    expect(response.statusCode).toBe(403);
    expect(response.json().detail).toBe("the limit 'pods' allows 2 pods; this needs 3");
    expect((await rest.call('GET', PATH, { key: carol.key })).json()).toEqual({ clusters: [] });
  });
});

test('a cluster that has a place shows it, its network, and where its primary is', async () => {
  const id = await createId({ ports: ['22/tcp'] });
  await place(id);
  const { primary, ...record } = (await get(id)).json();
  expect(record).toMatchObject({
    pods: { total: 3, byStatus: { RUNNING: 3 } },
    dataCenterId: 'LOCAL-1',
    network: { cidr: '198.18.4.0/24' },
  });
  const rows = await podsOf(id);
  expect(primary).toEqual({ podId: rows[0]!.id, status: 'RUNNING', sshEndpoint: '192.0.2.1:32768' });
  expect(rows.map(({ cluster }) => (cluster as { ip: string }).ip)).toEqual(['198.18.4.2', '198.18.4.3', '198.18.4.4']);
});

test('include=REASON says why it waits', async () => {
  const id = await createId();
  await rest.database.pool.query("update clusters set phase_reason = 'it waits for a place: none' where id = $1", [id]);
  const read = async (path: string) =>
    (await rest.call('GET', `${path}?include=REASON`, { key: rest.alice.key })).json();
  expect(await read(`${PATH}/${id}`)).toMatchObject({ reason: 'it waits for a place: none' });
  const { clusters } = await read(PATH);
  expect(clusters.find((one: { id: string }) => one.id === id)).toMatchObject({ reason: 'it waits for a place: none' });
  expect((await read(`${PATH}/${id}/pods`)).pods[1]).toMatchObject({ reason: 'it waits for a place: none' });
  expect((await get(id)).json()).not.toHaveProperty('reason');
});

describe('an update', () => {
  test('changes the name alone: absent is kept, null and everything else is a 422', async () => {
    const id = await createId();
    expect((await update(id, { name: 'other' })).json()).toMatchObject({ id, name: 'other' });
    expect((await update(id, {})).json()).toMatchObject({ name: 'other' });
    expect((await update(id, { name: null })).statusCode).toBe(422);
    expect((await update(id, { name: '' })).statusCode).toBe(422);
    const response = await update(id, { compute: minimal.compute });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toEqual(["$: additional property 'compute' is not allowed"]);
    expect((await podsOf(id))[1]).toMatchObject({ name: 'training-1' });
  });
});

describe('the pods of a cluster', () => {
  const list = async (query = '') =>
    (await rest.call('GET', `/v2/pods${query}`, { key: rest.alice.key }))
      .json()
      .pods.map((pod: { id: string }) => pod.id);

  test('are listed among pods only on request', async () => {
    const id = await createId();
    const [first] = await podsOf(id);
    expect(await list()).not.toContain(first!.id);
    expect(await list('?includeClusterPods=false')).not.toContain(first!.id);
    expect(await list('?includeClusterPods=true')).toContain(first!.id);
    const wrong = await rest.call('GET', '/v2/pods?includeClusterPods=some', { key: rest.alice.key });
    expect(wrong.statusCode).toBe(422);
    const single = await rest.call('GET', `/v2/pods/${first!.id}`, { key: rest.alice.key });
    expect(single.json()).toMatchObject({ cluster: { id, rank: 0, role: 'PRIMARY' } });
  });

  test('refuse PATCH, DELETE and actions with a 409 that says what to do', async () => {
    const id = await createId();
    const podId = (await podsOf(id))[2]!.id;
    const detail =
      `The pod is rank 2 of cluster '${id}', whose pods are alike and end together. ` +
      `To end them, DELETE /v2/clusters/${id}; to change them, create another cluster.`;
    const answers = [
      await rest.call('PATCH', `/v2/pods/${podId}`, { key: rest.alice.key, body: { name: 'x' } }),
      await rest.call('PATCH', `/v2/pods/${podId}`, { key: rest.alice.key, body: {} }),
      await rest.call('DELETE', `/v2/pods/${podId}`, { key: rest.alice.key }),
      await rest.call('POST', `/v2/pods/${podId}/action`, { key: rest.alice.key, body: { action: 'start' } }),
      await rest.call('POST', `/v2/pods/${podId}/action`, { key: rest.alice.key, body: { action: 'terminate' } }),
    ];
    for (const answer of answers) {
      expect(answer.json()).toEqual({ title: 'Conflict', status: 409, detail });
    }
  });
});

test('a deleted cluster is a 204, and not found from then on, nor are its pods', async () => {
  const id = await createId();
  const podId = (await podsOf(id))[0]!.id;
  const response = await remove(id);
  expect([response.statusCode, response.body]).toEqual([204, '']);
  const answers = [await get(id), await remove(id), await update(id, { name: 'x' }), await pods(id)];
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404, 404]);
  expect((await rest.call('GET', `/v2/pods/${podId}`, { key: rest.alice.key })).statusCode).toBe(404);
});

test('both revisions serve it alike', async () => {
  const id = await createId();
  for (const revision of ['/2026-07', '/2026-08']) {
    const response = await rest.call('GET', `${revision}/v2/clusters/${id}`, { key: rest.alice.key });
    expect(response.json()).toEqual((await get(id)).json());
  }
});

test('every operation needs a key with the permission; another user’s cluster and a missing one are the same 404', async () => {
  const id = await createId();
  const calls = (at: string, key?: string) => [
    ['GET', PATH, key] as const,
    ['POST', PATH, key, minimal] as const,
    ['GET', `${PATH}/${at}`, key] as const,
    ['PATCH', `${PATH}/${at}`, key, { name: 'x' }] as const,
    ['DELETE', `${PATH}/${at}`, key] as const,
    ['GET', `${PATH}/${at}/pods`, key] as const,
  ];
  const send = async (at: string, key?: string) => {
    const answers: { status: number; body: string }[] = [];
    for (const [method, url, token, body] of calls(at, key)) {
      const options = { ...(token !== undefined && { key: token }), ...(body !== undefined && { body }) };
      const response = await rest.call(method, url, options);
      answers.push({ status: response.statusCode, body: response.body });
    }
    return answers;
  };
  expect((await send(id)).map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 401]);
  const other = await rest.keyFor(rest.alice, 'serverless:write');
  expect((await send(id, other)).map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403]);
  const reader = await rest.keyFor(rest.alice, 'pods:read');
  expect((await send(id, reader)).map(({ status }) => status)).toEqual([200, 403, 200, 403, 403, 200]);
  const ofOne = await rest.keyFor(rest.alice, `pods/${id}:read`);
  expect((await send(id, ofOne)).map(({ status }) => status)).toEqual([403, 403, 200, 403, 403, 200]);
  const theirs = (await send(id, rest.bob.key)).slice(2);
  expect(theirs).toEqual((await send('nosuchcluster0', rest.bob.key)).slice(2));
  expect(theirs.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  expect((await get(id)).json().name).toBe('training');
});
