import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type EndpointId, newId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Bus } from '../../src/db/bus.ts';
import type { Db } from '../../src/db/pool.ts';
import { writeUserRateLimit } from '../../src/domain/rate-limits/user-rate-limit.ts';
import { SharedRateLimiter } from '../../src/http/floods/rate-limiter.ts';
import { requestBodyProblem } from '../check-answer.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';
import { type Person, type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * The rules of docs/interface/rest.md that concern every operation, and those of serverless endpoints and their update, one
 * test each. The other operations are tested beside their routes.
 */
let rest: RestFixture;
let limited: Person;
let id: string;
let registry: string;
let volume: string;

const NOON = Date.parse('2026-03-04T12:00:00.000Z');
const CREATED = {
  name: 'before',
  image: 'podyard/echo:1',
  args: 'serve',
  disk: 7,
  ports: ['8000/http'],
  env: { KEEP: '1' },
  gpu: { pools: ['ADA_24', 'AMPERE_24'], count: 2 },
  workers: { min: 1, max: 5 },
  scaling: { type: 'REQUEST_COUNT', value: 2, idleTimeout: 60 },
  dataCenterIds: ['EU-RO-1'],
  timeout: 90_000,
  flashboot: 'FLASHBOOT',
};

beforeAll(async () => {
  const late: Db = { query: ((...args: Parameters<Db['query']>) => rest.database.pool.query(...args)) as Db['query'] };
  const quotas = { minute: 100_000, hour: 200_000, day: 300_000 };
  const clock = { now: () => NOON }; // or a window could end between two requests of a test
  rest = await startRestApp({ rateLimiter: new SharedRateLimiter({ pool: late, quotas, clock }) });
  limited = await rest.addPerson('limited');
  await writeUserRateLimit(rest.database.pool, limited.userId, { minute: 1 });
  registry = await make('registries', { name: 'hub', username: 'u', password: 'p' });
  volume = await make('network-volumes', { name: 'models', size: 10, dataCenter: 'EU-RO-1' });
});
afterAll(() => rest.close());
beforeEach(async () => {
  id = await make('serverless', { ...CREATED, registry, networkVolumes: [volume] });
});

const call = (method: string, path: string, body?: unknown, key = rest.alice.key) =>
  rest.call(method, `/v2/${path}`, { key, body });
async function make(area: string, body: object): Promise<string> {
  const response = await call('POST', area, body);
  expect(response.statusCode).toBe(201);
  return response.json().id;
}
const update = (body: unknown, key = rest.alice.key) => call('PATCH', `serverless/${id}`, body, key);
const read = async () => (await call('GET', `serverless/${id}`)).json();
const releases = async () => (await call('GET', `serverless/${id}/releases`)).json();
const statusOf = async (body: unknown) => (await update(body)).statusCode;
const errorsOf = async (body: unknown) => {
  const response = await update(body);
  expect(response.statusCode).toBe(422);
  return response.json().errors as string[];
};
/** As nothing in the interface can make one. */
const makeCpuEndpoint = () =>
  rest.database.pool.query('update endpoints set cpu = $2, gpu_pools = null, gpu_count = null where id = $1', [
    id,
    { id: 'cpu3c', vcpuCount: 4, memory: 8 },
  ]);

/** docs/interface/rest.md, "Requests and responses" and "Partial updates" */
describe('Requests and responses', () => {
  test('REST is under /v2, with JSON bodies', async () => {
    const response = await update({ name: 'x' });
    expect(response.headers['content-type']).toMatch(/^application\/json/);
    expect((await rest.call('GET', '/serverless', { key: rest.alice.key })).statusCode).toBe(404);
  });
  test('errors are application/problem+json', async () => {
    expect((await update('{')).headers['content-type']).toBe('application/problem+json');
  });
  test('only fields present change, omitted fields are left untouched', async () => {
    const before = await read();
    expect((await update({ timeout: 1 })).json()).toEqual({ ...before, timeout: 1 });
    expect(await read()).toEqual({ ...before, timeout: 1 });
  });
  test('an endpoint has one of two routing types', async () => {
    for (const type of ['QUEUE_BASED', 'LOAD_BALANCING']) {
      const response = await call('POST', 'serverless', { ...CREATED, type });
      expect(response.json().type).toBe(type);
    }
    expect((await call('POST', 'serverless', { ...CREATED, type: 'OTHER' })).statusCode).toBe(422);
  });
});

/** Field, a value, and an invalid value. */
const FIELDS: [field: string, value: unknown, wrong: unknown[]][] = [
  ['name', 'after', ['', 7, null, {}]],
  ['gpu', { pools: ['AMPERE_80'], count: 3 }, ['ADA_24', null, {}, [], { pools: [] }, { pools: 'ADA_24' }]],
  ['workers', { min: 0, max: 9 }, [3, null, [], { min: -1 }, { max: -1 }, { min: 0.5 }, { max: '3' }, { min: null }]],
  [
    'scaling',
    { type: 'QUEUE_DELAY', value: 0.5, idleTimeout: 0 },
    [
      4,
      null,
      { type: 'CPU' },
      { value: 0.49 },
      { value: '4' },
      { idleTimeout: -1 },
      { idleTimeout: 1.5 },
      { type: null },
    ],
  ],
  ['dataCenterIds', ['US-TX-3'], ['US-TX-3', null, [1], {}]],
  ['networkVolumes', [], ['v', null, [1], {}]],
  ['timeout', 1, ['1', null, 1.5, -1]],
  ['flashboot', 'PRIORITY_FLASHBOOT', ['ON', null, 0, 'off']],
  ['image', 'podyard/echo:2', ['', 7, null]],
  ['args', '', [7, null, ['a']]],
  ['disk', 1, [0, -1, 1.5, '5', null]],
  ['ports', ['80/http', '22/tcp'], ['80/http', null, [80], ['80'], ['80/udp'], ['0/http'], ['65536/tcp'], ['http/80']]],
  ['env', { A: '1', B: '' }, ['A=1', null, [], { A: 1 }, { A: null }, { '': 'x' }]],
  ['registry', null, [7, [], {}]],
];

/** docs/interface/rest.md, "Container settings" */
describe('Container configuration', () => {
  test.each(['image', 'args', 'disk', 'ports', 'env', 'registry'] as const)('%s is in the record', async (field) => {
    expect((await read())[field]).toEqual({ ...CREATED, registry }[field]);
  });
  test('image: a reference', async () => {
    expect((await update({ image: 'host:5000/a/b:tag@sha256:0' })).json().image).toBe('host:5000/a/b:tag@sha256:0');
  });
  test('args: arguments passed to the entrypoint, kept as written', async () => {
    expect((await update({ args: ' a  "b c" ' })).json().args).toBe(' a  "b c" ');
  });
  test('disk: minimum 1', async () => {
    expect(await errorsOf({ disk: 0 })).toEqual(['/disk: must be >= 1']);
    expect(await statusOf({ disk: 1 })).toBe(200);
  });
  test('ports: each item <port>/<protocol>', async () => {
    expect((await errorsOf({ ports: ['80/http', '80'] }))[0]).toMatch(/^\/ports\/1: /);
  });
  test('env: a map of string to string', async () => {
    expect(await errorsOf({ env: { A: 1 } })).toEqual(['/env/A: must be string']);
  });
  test('registry: an identifier of a saved credential, or null', async () => {
    expect((await update({ registry: null })).json().registry).toBe(null);
    expect((await update({ registry })).json().registry).toBe(registry);
    expect(await statusOf({ registry: 'nosuchregistry' })).toBe(400);
  });
});

/** docs/interface/rest.md, "Serverless endpoints" */
describe('Endpoint', () => {
  test.each([
    'id',
    'name',
    'workers',
    'scaling',
    'dataCenterIds',
    'networkVolumes',
    'timeout',
    'flashboot',
    'createdAt',
    'type',
    'requestUrls',
    'gpu',
    'cpu',
  ])('%s is in the record', async (field) => {
    const one = await read();
    expect(one[field]).toBeDefined();
    const wanted = { ...CREATED, id, networkVolumes: [volume], cpu: null, type: 'QUEUE_BASED' } as Record<
      string,
      unknown
    >;
    if (field in wanted) expect(one[field]).toEqual(wanted[field]);
  });
  test('createdAt: ISO 8601, and no update changes it', async () => {
    const { createdAt } = await read();
    expect(new Date(createdAt).toISOString()).toBe(createdAt);
    expect((await update({ name: 'later' })).json().createdAt).toBe(createdAt);
  });
  test('requestUrls of QUEUE_BASED: run and runSync, nothing else', async () => {
    const { requestUrls } = await read();
    expect(Object.keys(requestUrls)).toEqual(['run', 'runSync']);
    expect(Object.values(requestUrls).every((url) => URL.canParse(url as string))).toBe(true);
  });
  test('requestUrls of LOAD_BALANCING: base, nothing else', async () => {
    id = await make('serverless', { ...CREATED, type: 'LOAD_BALANCING' });
    const { requestUrls } = await read();
    expect(Object.keys(requestUrls)).toEqual(['base']);
    expect(new URL(requestUrls.base).href).toContain(id);
  });
  test('gpu: null for a CPU endpoint', async () => {
    await makeCpuEndpoint();
    expect((await read()).gpu).toBe(null);
  });
  test('cpu: read-only; creating a CPU endpoint is not supported', async () => {
    const cpu = { id: 'cpu3c', vcpuCount: 2, memory: 4 };
    const response = await call('POST', 'serverless', { name: 'x', image: 'i', cpu });
    expect(response.statusCode).toBe(422);
    expect(response.json().errors).toContain("$: additional property 'cpu' is not allowed");
    expect(await errorsOf({ cpu })).toEqual(["$: additional property 'cpu' is not allowed"]);
  });
  test('cpu: updating a CPU endpoint is not supported', async () => {
    await makeCpuEndpoint();
    const response = await update({ name: 'x' });
    expect(response.statusCode).toBe(400);
    expect(response.json().detail).toMatch(/^cpu: /);
  });
});

/** docs/interface/rest.md, "Serverless endpoints" */
describe('Endpoint GPU configuration', () => {
  test('pools: required', async () => {
    expect(await errorsOf({ gpu: { count: 1 } })).toEqual(["/gpu: must have required property 'pools'"]);
  });
  test('pools: at least 1 item', async () => {
    expect((await errorsOf({ gpu: { pools: [] } }))[0]).toMatch(/^\/gpu\/pools: /);
  });
  test('pools: identifiers as returned by GET /v2/catalog/gpus', async () => {
    const { gpus } = (await call('GET', 'catalog/gpus')).json();
    const pools = [...new Set(gpus.map((gpu: { pool: string | null }) => gpu.pool))].filter((pool) => pool !== null);
    expect((await update({ gpu: { pools } })).json().gpu.pools).toEqual(pools);
    expect(await statusOf({ gpu: { pools: ['NOSUCH_POOL'] } })).toBe(400);
  });
  test('count: minimum 1', async () => {
    expect(await errorsOf({ gpu: { pools: ['ADA_24'], count: -1 } })).toEqual(['/gpu/count: must be >= 1']);
    const [error, ...hints] = await errorsOf({ gpu: { pools: ['ADA_24'], count: 0 } });
    expect([error, hints.length]).toEqual(['/gpu/count: must be >= 1', 1]);
  });
  test('count: default 1', async () => {
    expect((await update({ gpu: { pools: ['ADA_24'] } })).json().gpu).toEqual({ pools: ['ADA_24'], count: 1 });
  });
});

/** docs/interface/rest.md, "Serverless endpoints" */
describe('CPU configuration', () => {
  test.each([
    ['id', 'cpu3c'],
    ['vcpuCount', 4],
    ['memory', 8],
  ])('%s is in the record of a CPU endpoint', async (field, value) => {
    await makeCpuEndpoint();
    expect((await read()).cpu[field]).toBe(value);
  });
  test('id: a flavor of GET /v2/catalog/cpus', async () => {
    await makeCpuEndpoint();
    const { cpus } = (await call('GET', 'catalog/cpus')).json();
    expect(cpus.map((cpu: { id: string }) => cpu.id)).toContain((await read()).cpu.id);
  });
});

/** docs/interface/rest.md, "Serverless endpoints" */
describe('Enumerations', () => {
  test.each(['QUEUE_DELAY', 'REQUEST_COUNT'])('ScalerType %s', async (type) => {
    expect((await update({ scaling: { type } })).json().scaling.type).toBe(type);
  });
  test.each([
    [true, 'FLASHBOOT'],
    [false, 'OFF'],
  ])('FlashBoot as the boolean %s, as Terraform writes it (decision 101)', async (flashboot, shown) => {
    expect((await update({ flashboot })).json().flashboot).toBe(shown);
  });
  test.each(['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT'])('FlashBoot %s', async (flashboot) => {
    expect((await update({ flashboot })).json().flashboot).toBe(flashboot);
  });
  test.each(['QUEUE_BASED', 'LOAD_BALANCING'])('EndpointType %s', async (type) => {
    expect((await call('POST', 'serverless', { ...CREATED, type })).json().type).toBe(type);
  });
});

/** docs/interface/rest.md, "Errors" */
describe('Error record', () => {
  test.each([
    ['title', 'Unprocessable Entity'],
    ['status', 422],
    ['detail', 'Request validation failed.'],
    ['errors', ['/disk: must be >= 1']],
  ])('%s', async (field, value) => {
    expect((await update({ disk: 0 })).json()[field]).toEqual(value);
  });
  test('errors: each names a location in the body and the failure', async () => {
    const body = { disk: 0, workers: { min: -1, middle: 1 }, env: { A: 1 }, surprise: 1 };
    expect((await errorsOf(body)).toSorted()).toEqual([
      "$: additional property 'surprise' is not allowed",
      '/disk: must be >= 1',
      '/env/A: must be string',
      '/workers/min: must be >= 0',
      "/workers: additional property 'middle' is not allowed",
    ]);
  });
  test('errors: absent where nothing was validated', async () => {
    expect((await update({ workers: { min: 9 } })).json()).not.toHaveProperty('errors');
  });
});

/** docs/interface/rest.md, "Releases" and "Templates" */
describe('Releases and templates', () => {
  test.each([
    ['image', { image: 'other' }],
    ['args', { args: 'other' }],
    ['disk', { disk: 8 }],
    ['ports', { ports: [] }],
    ['env', { env: {} }],
    ['registry', { registry: null }],
  ])('a change of %s creates a new release', async (field, body) => {
    await update(body);
    const list = await releases();
    expect(list.endpointVersion).toBe(2);
    expect(list.releases[0].diff.map((change: { field: string }) => change.field)).toEqual([field]);
  });
  test('a template in use by an endpoint cannot be deleted, and can right after its last use', async () => {
    const templateId = await make('templates', { name: 'used', image: 'i', serverless: true });
    const user = await make('serverless', { name: 'user', gpu: CREATED.gpu, templateId });
    expect((await call('DELETE', `templates/${templateId}`)).statusCode).toBe(400);
    await call('DELETE', `serverless/${user}`);
    expect((await call('DELETE', `templates/${templateId}`)).statusCode).toBe(204);
  });
});

/** docs/interface/rest.md, "Partial updates" and "Serverless endpoints" */
describe('Update a serverless endpoint: the request', () => {
  test('PATCH /v2/serverless/{id}', async () => {
    expect((await update({})).statusCode).toBe(200);
    expect((await call('PUT', `serverless/${id}`, {})).headers.allow).toBe('DELETE, GET, HEAD, PATCH');
  });
  test('id: names the endpoint', async () => {
    const other = await make('serverless', CREATED);
    await update({ name: 'this one' });
    expect((await call('GET', `serverless/${other}`)).json().name).toBe('before');
  });
  test('the body is required', async () => {
    expect((await call('PATCH', `serverless/${id}`)).statusCode).toBe(400);
  });
  test('the body is application/json', async () => {
    const headers = { 'content-type': 'text/plain' };
    const response = await rest.call('PATCH', `/v2/serverless/${id}`, { key: rest.alice.key, body: '{}', headers });
    expect(response.statusCode).toBe(415);
  });
  test('unknown top-level properties are not allowed', async () => {
    expect(await errorsOf({ type: 'QUEUE_BASED' })).toEqual(["$: additional property 'type' is not allowed"]);
  });
  test.each(FIELDS)('%s: optional; absent, it stays', async (field) => {
    const before = await read();
    const others = FIELDS.filter(([name]) => name !== field && name !== 'registry');
    const after = (await update(Object.fromEntries(others.map(([name, value]) => [name, value])))).json();
    expect(after[field]).toEqual(before[field]);
  });
  test.each(FIELDS)('%s: takes its values', async (field, value) => {
    expect(requestBodyProblem('PATCH', `/v2/serverless/${id}`, { [field]: value })).toBe(null);
    const response = await update({ [field]: value });
    expect(response.statusCode).toBe(200);
    expect(response.json()[field]).toEqual(value);
    expect((await read())[field]).toEqual(value);
  });
  test.each(FIELDS)('%s: takes nothing else, and then nothing changes', async (field, _, wrong) => {
    const before = await read();
    for (const value of wrong) {
      expect(requestBodyProblem('PATCH', `/v2/serverless/${id}`, { [field]: value })).not.toBe(null);
      const errors = await errorsOf({ [field]: value });
      expect(errors[0], JSON.stringify(value)).toMatch(new RegExp(`^/${field}[/:]`));
    }
    expect(await read()).toEqual(before);
  });
  test.each(['gpu', 'workers', 'scaling'])('%s: no other properties allowed', async (field) => {
    const inner = field === 'gpu' ? { pools: ['ADA_24'], extra: 1 } : { extra: 1 };
    expect(await errorsOf({ [field]: inner })).toEqual([`/${field}: additional property 'extra' is not allowed`]);
  });
  test.each([
    ['workers', 'min', 0],
    ['workers', 'max', 9],
    ['scaling', 'type', 'QUEUE_DELAY'],
    ['scaling', 'value', 3.25],
    ['scaling', 'idleTimeout', 0],
  ])('%s.%s: alone, the other members stay', async (field, member, value) => {
    const before = (await read())[field];
    expect((await update({ [field]: { [member]: value } })).json()[field]).toEqual({ ...before, [member]: value });
  });
  test.each([
    ['omitted', {}],
    ['empty', { dataCenterIds: [] }],
  ])('dataCenterIds: %s, the scheduler chooses', async (_, more) => {
    const { dataCenterIds: __, ...others } = CREATED;
    id = await make('serverless', { ...others, ...more });
    expect((await read()).dataCenterIds).toEqual([]);
  });
  test('dataCenterIds: an empty array clears', async () => {
    expect((await update({ dataCenterIds: [] })).json().dataCenterIds).toEqual([]);
  });
  test('two updates at once never lose a field', async () => {
    for (let i = 1; i <= 20; i++) {
      const bodies = [
        { workers: { min: i } },
        { workers: { max: 100 + i } },
        { scaling: { value: i } },
        { scaling: { idleTimeout: i } },
        { name: `name ${i}` },
        { image: `image:${i}` },
      ];
      for (const { statusCode } of await Promise.all(bodies.map((body) => update(body)))) expect(statusCode).toBe(200);
      expect(await read()).toMatchObject({
        workers: { min: i, max: 100 + i },
        scaling: { type: 'REQUEST_COUNT', value: i, idleTimeout: i },
        name: `name ${i}`,
        image: `image:${i}`,
      });
    }
    expect((await releases()).endpointVersion).toBe(21);
  });
  test('two updates at once that only together break a rule: one of them is refused', async () => {
    const answers = await Promise.all([update({ workers: { min: 4 } }), update({ workers: { max: 2 } })]);
    expect(answers.map((answer) => answer.statusCode).toSorted()).toEqual([200, 400]);
  });
});

/** docs/interface/rest.md, "Errors" and "Authentication" */
describe('Update a serverless endpoint: the responses', () => {
  test('200: the complete updated record', async () => {
    const response = await update({ name: 'after' });
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual(await read());
  });
  test.each([
    ['malformed', '{"name":'],
    ['in conflict with a rule', { workers: { min: 9 } }],
  ])('400: %s', async (_, body) => {
    expect(await statusOf(body)).toBe(400);
  });
  test('401: no valid key', async () => {
    expect((await update({}, 'pyk_nosuchkey')).statusCode).toBe(401);
  });
  test('403: the key does not grant the action', async () => {
    expect((await update({}, await rest.keyFor(rest.alice, 'serverless:read'))).statusCode).toBe(403);
  });
  test('404: not found, or not accessible to the caller', async () => {
    const foreign = await update({ name: 'x' }, rest.bob.key);
    const missing = await call('PATCH', 'serverless/nosuchendpoint', { name: 'x' }, rest.bob.key);
    expect([foreign.statusCode, missing.statusCode]).toEqual([404, 404]);
    expect(foreign.rawPayload).toEqual(missing.rawPayload);
  });
  test('422: failed validation', async () => {
    expect(await statusOf({ name: '' })).toBe(422);
  });
  test('429: rate limit exceeded', async () => {
    await update({}, limited.key);
    expect((await update({}, limited.key)).statusCode).toBe(429);
  });
  test('other: an error record', async () => {
    const response = await update({ name: 'n'.repeat(1_100_000) });
    expect(response.statusCode).toBe(413);
    expect(response.json()).toMatchObject({ title: 'Content Too Large', status: 413 });
  });
});

/** docs/interface/rest.md, "Effects of an update" */
describe('Update a serverless endpoint: effect timing', () => {
  let plane: QueuePlaneFixture;
  let bus: Bus;
  beforeAll(async () => {
    plane = await QueuePlaneFixture.start();
    const { pool, url: databaseUrl } = plane.database;
    bus = new Bus({ pool, databaseUrl, processId: newId(8), logger: silentLogger });
    await bus.start();
    await serverHears(await plane.endpoint(0));
  });
  afterAll(async () => {
    await bus.stop();
    await plane.close();
  });
  const patch = async (endpointId: EndpointId, body: object) => {
    const answer = await plane.call('PATCH', `serverless/${endpointId}`, { body });
    expect(answer.status).toBe(200);
    return performance.now();
  };
  /** Hints are sent only to processes that the server knows: resolves once it knows of `bus`. */
  const serverHears = async (endpointId: EndpointId) => {
    let isHeard = false;
    const unsubscribe = bus.subscribe('endpoint', () => {
      isHeard = true;
    });
    await until(async () => {
      await patch(endpointId, { name: 'heard' });
      return isHeard;
    }, Boolean);
    unsubscribe();
  };
  const live = async (endpointId: EndpointId) =>
    (await plane.call('GET', `serverless/${endpointId}/workers`)).body.workers as {
      version: number;
      isStale: boolean;
    }[];
  /**
   * From the answer of each update to the first worker that is wanted, or not wanted any more, because of it: the median, so
   * that a busy machine is not taken for a slow server.
   */
  async function expectPrompt(endpointId: EndpointId, bodies: object[]): Promise<void> {
    const delays: number[] = [];
    const updates: number[] = [];
    for (const body of bodies) {
      const known = new Map((await wantedOf(endpointId)).map((worker) => [worker.id, worker.wanted]));
      const decided = Promise.withResolvers<number>();
      const unsubscribe = bus.subscribe('worker', async (workerId) => {
        const at = performance.now();
        const worker = (await wantedOf(endpointId)).find((candidate) => candidate.id === workerId);
        if (worker && known.get(worker.id) !== worker.wanted) decided.resolve(at);
      });
      const sentAt = performance.now();
      const answeredAt = await patch(endpointId, body);
      updates.push(answeredAt - sentAt);
      delays.push((await decided.promise) - answeredAt);
      unsubscribe();
    }
    expect(median(delays)).toBeLessThanOrEqual(promptMs(updates));
  }
  const wantedOf = (endpointId: EndpointId): Promise<{ id: string; wanted: string }[]> =>
    plane.sql('select id, wanted from workers where endpoint_id = $1', endpointId);
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
  /** 100 ms, or a few updates where the machine takes longer for those. */
  const promptMs = (updates: number[]) => Math.max(100, 5 * median(updates));

  test('a change of workers is applied promptly, one right after another too', async () => {
    const endpointId = await plane.endpoint(1, { workers: { min: 1, max: 9 } });
    await until(
      () => live(endpointId),
      (workers) => workers.length === 1,
    );
    const bodies = [2, 3, 4, 5, 6].map((min) => ({ workers: { min } }));
    await expectPrompt(endpointId, bodies);
    const fewer = [5, 4, 3, 2, 1].map((max) => ({ workers: { min: 0, max } }));
    await expectPrompt(endpointId, fewer);
  });
  test('a change of scaling is applied promptly', async () => {
    const scaling = { type: 'REQUEST_COUNT', value: 100, idleTimeoutSeconds: 60 } as const;
    const endpointId = await plane.endpoint(0, { workers: { min: 0, max: 9 }, scaling });
    for (let i = 0; i < 8; i++) await plane.run(endpointId);
    await until(
      () => live(endpointId),
      (workers) => workers.length === 1,
    );
    const bodies = [4, 3, 2].map((value) => ({ scaling: { value } }));
    await expectPrompt(endpointId, bodies);
  });
  test('a change of timeout is applied promptly, to running jobs too', async () => {
    const delays: number[] = [];
    const updates: number[] = [];
    for (let i = 0; i < 3; i++) {
      const endpointId = await plane.endpoint(1);
      const worker = await plane.worker(endpointId);
      const jobId = await plane.run(endpointId);
      expect((await worker.take()).body.id).toBe(jobId);
      const sentAt = performance.now();
      const answeredAt = await patch(endpointId, { timeout: 1 }); // it has run longer, even if a run for an earlier change is due
      updates.push(answeredAt - sentAt);
      const ended = await until(
        () => plane.status(endpointId, jobId),
        (job) => job.status !== 'IN_PROGRESS',
      );
      delays.push(performance.now() - answeredAt);
      expect(ended.error).toBe('executionTimeout exceeded');
    }
    expect(median(delays)).toBeLessThanOrEqual(promptMs(updates));
  });
  test('a container-affecting change creates a release; in-flight workers keep the previous one until they are replaced', async () => {
    const endpointId = await plane.endpoint(1);
    const worker = await plane.worker(endpointId);
    const jobId = await plane.run(endpointId);
    await worker.take();
    await patch(endpointId, { image: 'any:v2' });
    const rollout = async () => (await plane.call('GET', `serverless/${endpointId}/releases`)).body;
    expect(await rollout()).toMatchObject({ endpointVersion: 2, rollout: { inProgress: true, workersOnLatest: 0 } });
    expect((await live(endpointId)).find(({ version }) => version === 1)).toMatchObject({
      isStale: true,
      image: 'any:v1',
    });
    expect((await worker.done(jobId, '{"output":1}')).status).toBe(200);
    expect((await plane.status(endpointId, jobId)).status).toBe('COMPLETED');
    const after = await until(rollout, (list) => list.rollout.percentOnLatest === 100);
    expect(after.rollout).toMatchObject({ inProgress: false, workersOnLatest: 1, workersTotal: 1 });
  });
  test('listEndpointReleases tracks the rollout', async () => {
    const endpointId = await plane.endpoint(0);
    await patch(endpointId, { env: { A: '1' } });
    const { body } = await plane.call('GET', `serverless/${endpointId}/releases`);
    expect(body.releases.map((release: { version: number }) => release.version)).toEqual([2, 1]);
    expect(body.rollout).toMatchObject({ inProgress: false, workersOnLatest: 0, workersTotal: 0, percentOnLatest: 0 });
  });
});

/** docs/interface/rest.md, "Catalog" */
describe('Catalog', () => {
  test('GET /v2/catalog/gpus: entries include a pool', async () => {
    const { gpus } = (await call('GET', 'catalog/gpus')).json();
    expect(gpus.some((gpu: { pool: unknown }) => gpu.pool === 'ADA_24')).toBe(true);
    for (const gpu of gpus) expect(gpu).toHaveProperty('pool');
  });
  test('GET /v2/catalog/cpus: flavor identifiers', async () => {
    const { cpus } = (await call('GET', 'catalog/cpus')).json();
    expect(cpus.map((cpu: { id: string }) => cpu.id)).toContain('cpu3c');
  });
});

/** docs/interface/rest.md, "Authentication" */
describe('Authentication', () => {
  const withHeader = (authorization?: string) =>
    rest.call('GET', '/v2/serverless', { headers: authorization === undefined ? {} : { authorization } });
  test('a key is sent as Authorization: Bearer <key>', async () => {
    expect((await withHeader(`Bearer ${rest.alice.key}`)).statusCode).toBe(200);
  });
  test('keys are scoped to the permissions granted at creation', async () => {
    const key = await rest.keyFor(rest.alice, 'templates:read');
    expect((await call('GET', 'templates', undefined, key)).statusCode).toBe(200);
    expect((await call('GET', 'serverless', undefined, key)).statusCode).toBe(403);
  });
  test('a missing key is a 401', async () => {
    expect((await withHeader()).statusCode).toBe(401);
  });
  test('a malformed key is a 401', async () => {
    for (const text of ['', 'Bearer', 'Basic YTpi', rest.alice.key])
      expect((await withHeader(text)).statusCode).toBe(401);
  });
  test('an expired key is a 401', async () => {
    let expiresAt = '';
    const statusOf = async (secret: string) => {
      const status = (await withHeader(`Bearer ${secret}`)).statusCode;
      if (status === 401) expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt));
      else expect(status).toBe(200);
      return status;
    };
    // On a slow machine it may have expired before its first use.
    for (let lastsMs = 300; lastsMs < 20_000; lastsMs *= 4) {
      expiresAt = new Date(Date.now() + lastsMs).toISOString();
      const made = await call('POST', 'account/api-keys', { name: 'short', scopes: ['all'], expiresAt });
      const { secret } = made.json();
      if ((await statusOf(secret)) === 401) continue;
      await until(
        () => statusOf(secret),
        (status) => status === 401,
      );
      return;
    }
    expect.fail('no key was used before it expired');
  });
  test('an unknown key is a 401', async () => {
    expect((await withHeader('Bearer pyk_nosuchkey')).statusCode).toBe(401);
  });
  test('a valid key without access to the resource or action is a 403', async () => {
    const key = await rest.keyFor(rest.alice, 'serverless/other:write', `serverless/${id}:read`);
    expect((await update({}, key)).statusCode).toBe(403);
    expect((await call('GET', `serverless/${id}`, undefined, key)).statusCode).toBe(200);
  });
});

/** docs/interface/rest.md, "Errors" */
describe('Errors', () => {
  const ERRORS: [number, string, RegExp, () => ReturnType<typeof call>][] = [
    [400, 'Bad Request', /^The request could not be processed/, () => update('{')],
    [401, 'Unauthorized', /bearer token/, () => update({}, 'pyk_x')],
    [403, 'Forbidden', /access denied/, async () => update({}, await rest.keyFor(rest.alice, 'read-only'))],
    [404, 'Not Found', /not found/, () => call('GET', 'serverless/nosuchendpoint')],
    [422, 'Unprocessable Entity', /validation failed/, () => update({ name: '' })],
    [
      429,
      'Too Many Requests',
      /rate limit exceeded for the minute window/,
      async () => {
        await call('GET', 'serverless', undefined, limited.key);
        return call('GET', 'serverless', undefined, limited.key);
      },
    ],
  ];
  test.each(ERRORS)('%i: %s', async (status, title, detail, cause) => {
    const response = await cause();
    expect(response.statusCode).toBe(status);
    expect(response.json()).toMatchObject({ status, title, detail: expect.stringMatching(detail) });
  });
  test.each(ERRORS)(
    'of %i the content type is application/problem+json, status is the HTTP status',
    async (status, _, __, cause) => {
      const response = await cause();
      expect(response.headers['content-type']).toBe('application/problem+json');
      expect(response.json().status).toBe(status);
    },
  );
  test.each([
    ['an unknown path', 404, 'GET', '/v2/nowhere', undefined, {}],
    ['an unknown path, whatever the body', 404, 'POST', '/v2/nowhere', 'x'.repeat(200_000), { 'content-type': 'a/b' }],
    ['a method that is not allowed', 405, 'PUT', '/v2/serverless', '{}', {}],
    ['a path that cannot be decoded', 400, 'GET', '/v2/serverless/%zz', undefined, {}],
    ['a body that is too large', 413, 'POST', '/v2/serverless', `"${'x'.repeat(1_100_000)}"`, {}],
    ['a body of another type', 415, 'POST', '/v2/serverless', 'x', { 'content-type': 'text/plain' }],
  ])('the refusal of %s is a problem record as well', async (_, status, method, url, body, headers) => {
    const response = await rest.call(method, url, { key: rest.alice.key, body, headers });
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.json()).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
    expect(response.statusCode).toBe(status);
  });
  test('validation failures are listed individually', async () => {
    expect(await errorsOf({ name: '', disk: 0, timeout: 'x' })).toHaveLength(3);
  });
  test('a property not allowed is a validation failure', async () => {
    expect(await statusOf({ surprise: 1 })).toBe(422);
  });
  test('a 429 carries Retry-After, RateLimit and RateLimit-Policy', async () => {
    const { headers } = await ERRORS.at(-1)![3]();
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(headers).toHaveProperty('ratelimit');
    expect(headers).toHaveProperty('ratelimit-policy');
  });
});

/** docs/interface/rest.md, "Rate limits" and "Container settings" */
describe('Limits', () => {
  test.each([
    ['workers.min', { workers: { min: 0 } }, { workers: { min: -1 } }],
    ['workers.max', { workers: { min: 0, max: 0 } }, { workers: { max: -1 } }],
    ['scaling.value', { scaling: { value: 0.5 } }, { scaling: { value: 0.4999 } }],
    ['scaling.idleTimeout', { scaling: { idleTimeout: 0 } }, { scaling: { idleTimeout: -1 } }],
    ['gpu.pools', { gpu: { pools: ['ADA_24'] } }, { gpu: { pools: [] } }],
    ['gpu.count', { gpu: { pools: ['ADA_24'], count: 1 } }, { gpu: { pools: ['ADA_24'], count: 0 } }],
    ['disk', { disk: 1 }, { disk: 0 }],
    ['name', { name: 'n' }, { name: '' }],
  ])('%s: its bound is taken, what lies below is not', async (_, bound, below) => {
    expect(await statusOf(bound)).toBe(200);
    expect(await statusOf(below)).toBe(422);
  });
  test('exposed HTTP ports: at most 10 of a pod template', async () => {
    const ports = (count: number) => Array.from({ length: count }, (_, i) => `${8000 + i}/http`);
    const template = (count: number) =>
      call('POST', 'templates', { name: `ports ${count}`, image: 'i', ports: ports(count) });
    expect((await template(10)).statusCode).toBe(201);
    expect((await template(11)).statusCode).toBe(400);
  });
  test('rate limit: per user', async () => {
    await call('GET', 'serverless', undefined, limited.key);
    const other = await rest.keyFor(limited, 'all');
    expect((await call('GET', 'serverless', undefined, other)).statusCode).toBe(429);
    expect((await call('GET', 'serverless')).statusCode).toBe(200);
  });
  test.each(['minute', 'hour', 'day'] as const)('rate limit: the window %s', async (window) => {
    const person = await rest.addPerson(`limited by the ${window}`);
    await writeUserRateLimit(rest.database.pool, person.userId, { [window]: 1 });
    expect((await call('GET', 'serverless', undefined, person.key)).statusCode).toBe(200);
    const refused = await call('GET', 'serverless', undefined, person.key);
    expect(refused.statusCode).toBe(429);
    expect(refused.json().detail).toContain(`the ${window} window`);
    expect(refused.headers['retry-after']).toBe({ minute: '60', hour: '3600', day: '43200' }[window]);
  });
  test('RateLimit: one member per window with r and t, on successes', async () => {
    const member = (window: string) => `"${window}";r=\\d+;t=\\d+`;
    const list = new RegExp(`^${['minute', 'hour', 'day'].map(member).join(', ')}$`);
    const first = (await call('GET', 'serverless')).headers.ratelimit as string;
    const second = (await call('GET', 'serverless')).headers.ratelimit as string;
    expect(first).toMatch(list);
    const remaining = (text: string) => Number(/"day";r=(\d+)/.exec(text)![1]);
    expect(remaining(first) - remaining(second)).toBe(1);
  });
  test('RateLimit-Policy: one member per window with q and w, on successes', async () => {
    expect((await call('GET', 'serverless')).headers['ratelimit-policy']).toBe(
      '"minute";q=100000;w=60, "hour";q=200000;w=3600, "day";q=300000;w=86400',
    );
  });
  test('Retry-After: seconds until the exceeded window ends', async () => {
    await call('GET', 'serverless', undefined, limited.key);
    const { headers } = await call('GET', 'serverless', undefined, limited.key);
    expect(headers.ratelimit).toContain(`"minute";r=0;t=${headers['retry-after']},`);
  });
});

/** docs/interface/rest.md, "Description" */
describe('Description', () => {
  test('the description carries version 2.0.0 and every path of the interface /v2', async () => {
    const document = (await rest.call('GET', '/v2/openapi.json')).json();
    expect(document.info.version).toBe('2.0.0');
    const own = ['/healthz', '/readyz', '/metrics', '/hooks/git/{sourceId}'];
    for (const path of Object.keys(document.paths)) expect(own.includes(path) || path.startsWith('/v2/')).toBe(true);
  });
});
