import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFakeEngine } from '../../../../test/fake-engine.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { Gpu, GpuReading } from '../../gpus/gpu.ts';
import { GpuInventory } from '../../gpus/gpu-inventory.ts';
import type { Runtime } from '../../runtime.ts';
import { createDockerRuntime } from '../docker-runtime.ts';

interface Container {
  Id: string;
  Created: number;
  State: string;
  Labels: Record<string, string>;
  isHidden?: boolean;
}

const gpu = (n: number): Gpu => ({
  uuid: `GPU-${n}`,
  busId: `0000:0${n}:00.0`,
  gpuTypeId: 'NVIDIA L4',
  pool: 'AMPERE_24',
  vendor: 'NVIDIA',
  memoryMib: 23_034,
  cudaVersion: '12.4',
  shares: 1,
  devicePaths: [],
});
const NETWORK = {
  Id: 'n1',
  IPAM: { Config: [{ Subnet: '10.7.0.0/24', Gateway: '10.7.0.1' }] },
  Labels: { 'podyard.network.pinned': 'true' },
};

/** Stands in for a Docker Engine with NVIDIA's runtime, shared by all runtimes of a test: it keeps labels and times. */
let engine: Awaited<ReturnType<typeof startFakeEngine>>;
let containers: Container[];
let failStart: string | null;
/** Called after a container is created, before the engine answers. */
let onCreate: (made: Container) => Promise<void>;
let reading: GpuReading;
let reads: number;
const runtimes: Runtime[] = [];

beforeEach(async () => {
  containers = [];
  failStart = null;
  onCreate = async () => {};
  reading = { state: 'read', gpus: [gpu(1), gpu(2)], faulty: [] };
  reads = 0;
  engine = await startFakeEngine(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = new URL(request.url!, 'http://engine');
    const answer = answerTo(request.method!, url, body);
    if (url.pathname === '/containers/create') await onCreate(containers.at(-1)!);
    const status = answer === undefined ? 404 : 'message' in answer ? 500 : 200;
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? { message: 'none' }));
  });
});
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  await engine.close();
});

function answerTo(method: string, url: URL, body: string): object | undefined {
  const { pathname, searchParams } = url;
  if (pathname === '/version') return {};
  if (pathname === '/info')
    return { NCPU: 2, MemTotal: 1e9, Driver: 'x', DriverStatus: null, Runtimes: { nvidia: {} } };
  if (pathname.startsWith('/networks/')) return NETWORK;
  if (pathname === '/containers/json') {
    const { label } = JSON.parse(searchParams.get('filters')!) as { label: string[] };
    const has = (one: Container, wanted: string) => {
      const [name = '', value] = wanted.split('=');
      return value === undefined ? name in one.Labels : one.Labels[name] === value;
    };
    return containers.filter((one) => !one.isHidden && label.every((wanted) => has(one, wanted)));
  }
  if (pathname === '/containers/create') {
    const { Labels } = JSON.parse(body) as { Labels: Record<string, string> };
    const Id = searchParams.get('name')!;
    containers.push({ Id, Created: containers.length, State: 'created', Labels });
    return { Id };
  }
  const at = containers.findIndex(({ Id }) => pathname.startsWith(`/containers/${Id}`));
  if (at < 0) return undefined;
  if (method === 'DELETE') containers.splice(at, 1);
  else if (pathname.endsWith('/start')) {
    if (failStart !== null) return { message: failStart };
    containers[at]!.State = 'running';
  }
  return { State: { Status: 'running' }, Config: { Labels: {} }, NetworkSettings: {} };
}

function open(installation = 'i'): Runtime {
  const source = {
    name: 'test',
    read: async () => {
      reads += 1;
      return reading;
    },
  };
  const gpus = new GpuInventory({ source, logger: silentLogger, intervalMs: 0 });
  const runtime = createDockerRuntime({ socketPath: engine.socketPath, installation, gpus, logger: silentLogger });
  runtimes.push(runtime);
  return runtime;
}
const spec = (id: string, count = 1) =>
  workloadSpec({ id, image: 'a:v1', gpu: count === 0 ? null : { pool: 'AMPERE_24', count } });
const devicesOf = (id: string) =>
  containers.find(({ Labels }) => Labels['podyard.id'] === id)?.Labels['podyard.gpu.devices'];

test('two workers never see the same GPU: not when they start together, nor after a restart, nor with another installation', async () => {
  const runtime = open();
  await Promise.all([runtime.start(spec('one')), runtime.start(spec('two'))]);
  expect([devicesOf('one'), devicesOf('two')].sort()).toEqual(['GPU-1', 'GPU-2']);
  await expect(runtime.start(spec('three'))).rejects.toThrow('Pool AMPERE_24 has 0 GPUs free, 1 needed');
  await runtime.stop('one', 0);
  const restarted = open(); // knows of GPU-2 only by the labels
  await restarted.start(spec('three'));
  expect([devicesOf('two'), devicesOf('three')].sort()).toEqual(['GPU-1', 'GPU-2']);
  await expect(open('other').start(spec('four'))).rejects.toThrow('has 0 GPUs free');
  expect((await open('other').capacity()).gpus).toMatchObject([{ total: 0, free: 0 }]);
});

test('of two processes that give the same GPU away at the same moment, the younger container gives way', async () => {
  const [former, leader] = [open(), open()];
  // The leader chooses before the container of the former one is listed, and creates its own before that one starts.
  onCreate = async (made) => {
    onCreate = async () => {};
    made.isHidden = true;
    await leader.start(spec('two', 2));
    Object.assign(made, { isHidden: false, Created: 50 });
  };
  await expect(former.start(spec('one', 2))).rejects.toThrow('was given to another workload at the same moment');
  expect(containers.map(({ State, Labels }) => [State, Labels['podyard.id']])).toEqual([['running', 'two']]);
});

test('a lost GPU is out of the pool, and its workload is reported with what happened', async () => {
  const runtime = open();
  await Promise.all([runtime.start(spec('one')), runtime.start(spec('two')), runtime.start(spec('cpu', 0))]);
  expect((await runtime.list()).every(({ loss }) => loss === undefined)).toBe(true);
  const holder = devicesOf('one') === 'GPU-1' ? 'one' : 'two';
  reading = { state: 'read', gpus: [gpu(2)], faulty: [{ uuid: null, busId: '0000:01:00.0', fault: 'GPU is lost' }] };
  await expect
    .poll(async () => (await runtime.list()).filter(({ loss }) => loss).map(({ id, loss }) => [id, loss]))
    .toEqual([[holder, 'GPU-1 (NVIDIA L4) does not answer: GPU is lost']]);
  expect(await runtime.capacity()).toMatchObject({
    gpus: [{ total: 1, free: 0 }],
    gpuProblem: 'GPU-1 (NVIDIA L4) does not answer: GPU is lost',
  });
});

test('a start that fails leaves its GPU free, and has the GPUs checked', async () => {
  const runtime = open();
  await runtime.capacity();
  failStart = 'nvidia-container-cli: device error: GPU-1: unknown device';
  const before = reads;
  await expect(runtime.start(spec('one'))).rejects.toThrow('unknown device');
  failStart = null;
  await runtime.list();
  expect(reads).toBeGreaterThan(before);
  await runtime.start(spec('two', 2));
  expect(devicesOf('two')).toBe('GPU-1,GPU-2');
});
