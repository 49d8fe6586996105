import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFakeEngine } from '../../../test/fake-engine.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import { parseEgress } from '../../config/egress.ts';
import { silentLogger } from '../../core/logger.ts';
import { NoCapacity, type Runtime } from '../runtime.ts';
import { opaqueName } from '../workload-spec.ts';
import { createDockerRuntime } from './docker-runtime.ts';

const SPEC = workloadSpec({ id: 'w1', image: 'a:v1', env: { TOKEN: 'hunter2' }, diskGb: 7 });
const NETWORK = {
  Id: 'n1',
  IPAM: { Config: [{ Subnet: '10.7.0.0/24', Gateway: '10.7.0.1' }] },
  Labels: { 'podyard.network.pinned': 'true' },
};

/** Fakes what a real engine does only when something is wrong: records each request, and refuses as configured. */
let engine: Awaited<ReturnType<typeof startFakeEngine>>;
let runtime: Runtime;
let requests: { what: string; body: string }[];
let refusals: { what: string; status: number; message: string }[];
let backingFileSystem: string;
let containers: object[];
let details: object;
let image: object;

beforeEach(async () => {
  requests = [];
  refusals = [];
  backingFileSystem = 'extfs';
  containers = [];
  details = { State: { Status: 'running', Pid: 0 }, Config: { Labels: {} } };
  image = {};
  engine = await startFakeEngine(async (request, response) => {
    const path = request.url!.split('?')[0]!;
    const what = `${request.method} ${path}`;
    requests.push({ what, body: await read(request) });
    const at = refusals.findIndex((refusal) => refusal.what === what);
    const [refusal] = at < 0 ? [] : refusals.splice(at, 1);
    const answer = refusal ? { message: refusal.message } : answerTo(path);
    response.writeHead(refusal?.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  runtime = createDockerRuntime({
    socketPath: engine.socketPath,
    installation: 'i',
    gpus: new Map(),
    logger: silentLogger,
  });
});
afterEach(async () => {
  await runtime.close();
  await engine.close();
});

function answerTo(path: string): object {
  if (path === '/info') {
    return { NCPU: 2, MemTotal: 1e9, Driver: 'overlay2', DriverStatus: [['Backing Filesystem', backingFileSystem]] };
  }
  if (path === '/containers/json') return containers;
  if (/^\/containers\/[^/]+\/json$/.test(path)) return details;
  if (path === '/images/a%3Av1/json') return image;
  return path.startsWith('/networks/') ? NETWORK : {};
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

const CREATE = 'POST /containers/create';
const NAME = `podyard-i-${opaqueName('i', 'w1')}`;
const START = `POST /containers/${NAME}/start`;
const REMOVE = `DELETE /containers/${NAME}`;
const calls = () => requests.map(({ what }) => what).filter((what) => what.includes('/containers/'));
const created = () => requests.filter(({ what }) => what === CREATE).map(({ body }) => body);

test('a container that is removed while they are listed costs only another request', async () => {
  containers = [{ Id: 'c1', Labels: { 'podyard.id': 'w1', 'podyard.kind': 'worker' }, State: 'running', Created: 1 }];
  const message = 'container 0f does not exist in database: no such container';
  refusals = [{ what: 'GET /containers/json', status: 500, message }];
  expect((await runtime.list()).map(({ id }) => id)).toEqual(['w1']);
});

test('without egress rules in place no container is created', async () => {
  const limited = createDockerRuntime({
    socketPath: engine.socketPath,
    installation: 'i',
    gpus: new Map(),
    egress: parseEgress('lan', undefined),
    logger: silentLogger,
  });
  await expect(limited.start(SPEC)).rejects.toThrow(NoCapacity);
  expect(calls()).toEqual([]);
  limited.egress.giveUp();
  await limited.start(SPEC);
  expect(calls()).toEqual([CREATE, START]);
  await limited.close();
});

test('a start makes two requests: create and start', async () => {
  const { address } = await runtime.start(SPEC);
  expect(address).toMatch(/^10\.7\.0\.\d+$/);
  expect(calls()).toEqual([CREATE, START]);
  expect(await runtime.reach('w1', 80)).toEqual({ host: address, port: 80 });
  expect(calls()).toEqual([CREATE, START]);
});

test('a default counts only where neither the image nor the workload sets the variable', async () => {
  const variables = async (env: Record<string, string>) => {
    await runtime.start({ ...SPEC, env, imageDefaults: { CUDA_VERSION: '12.8' } });
    return JSON.parse(created().at(-1)!).Env;
  };
  image = { Config: { Env: ['PATH=/bin'] } };
  expect(await variables({ A: '1' })).toEqual(['CUDA_VERSION=12.8', 'A=1']);
  expect(await variables({ CUDA_VERSION: '11' })).toEqual(['CUDA_VERSION=11']);
  image = { Config: { Env: ['PATH=/bin', 'CUDA_VERSION=12.4.1'] } };
  expect(await variables({ A: '1' })).toEqual(['A=1']);
});

test.each([
  'Address already in use',
  'driver failed programming external connectivity: Bind for 127.0.0.1:49153 failed: port is already allocated',
  'requested ip address 10.7.0.9 is already allocated to container ID 1',
])('%s: the container is removed and another address is tried', async (message) => {
  refusals = [{ what: START, status: 500, message }];
  await runtime.start(SPEC);
  expect(calls()).toEqual([CREATE, START, REMOVE, CREATE, START]);
  expect(new Set(created()).size).toBe(2);
});

test('a requested port that is in use fails the start at once', async () => {
  const message = 'Bind for 127.0.0.1:49153 failed: port is already allocated';
  refusals = [{ what: START, status: 500, message }];
  const spec = { ...SPEC, kind: 'pod' as const, ports: ['22/tcp'], publicPorts: { 22: 49_153 } };
  await expect(runtime.start(spec)).rejects.toThrow('port is already allocated');
  expect(calls()).toEqual([CREATE, START, REMOVE]);
});

test.each([
  ['a full disk', 'mkdir /var/lib/docker/overlay2/1: no space left on device', 'the disk of this machine is full'],
  [
    'a mount whose directory is missing',
    'invalid mount config for type "bind": bind source path does not exist: /gone',
    '/gone',
  ],
])('%s fails the create or the start with one sentence and leaves nothing behind', async (_, message, sentence) => {
  refusals = [{ what: CREATE, status: 500, message }];
  await expect(runtime.start(SPEC)).rejects.toThrow(sentence);
  expect(calls()).toEqual([CREATE]);
  refusals = [{ what: START, status: 500, message }];
  const failed = runtime.start(SPEC);
  await expect(failed).rejects.toThrow(sentence);
  await expect(failed).rejects.not.toThrow('hunter2');
  expect(calls()).toEqual([CREATE, CREATE, START, REMOVE]);
});

test('a disk is limited where the storage reports support, until the engine refuses', async () => {
  await runtime.start(SPEC);
  expect(created()[0]).not.toContain('StorageOpt');
  await runtime.close();
  backingFileSystem = 'xfs';
  requests = [];
  runtime = createDockerRuntime({
    socketPath: engine.socketPath,
    installation: 'i',
    gpus: new Map(),
    logger: silentLogger,
  });
  const message = '--storage-opt is supported only for overlay over xfs with pquota mount option';
  const refusal = { what: CREATE, status: 500, message };
  refusals = [refusal, refusal];
  await Promise.all([runtime.start(SPEC), runtime.start({ ...SPEC, id: 'w2' })]); // both are refused at the same time
  await runtime.start({ ...SPEC, id: 'w3' });
  const isLimited = created().map((body) => body.includes('"StorageOpt":{"size":"7G"}'));
  expect(isLimited).toEqual([true, true, false, false, false]);
});

test('a container of an older version that the engine does not rename is used by its old name', async () => {
  const old = { Id: 'c1', Names: ['/podyard-i-w1'], Labels: { 'podyard.id': 'w1' }, State: 'running', Created: 1 };
  containers = [old];
  refusals = [{ what: 'POST /containers/c1/rename', status: 500, message: 'not supported' }];
  expect(await runtime.list()).toMatchObject([{ id: 'w1', state: 'running' }]);
  await runtime.stop('w1', 0);
  expect(calls().at(-1)).toBe('DELETE /containers/podyard-i-w1');
});

test('a disk is measured only where the engine does not limit it', async () => {
  const HostConfig = { Memory: 0, NanoCpus: 0, StorageOpt: { size: '7G' } };
  details = { HostConfig, SizeRw: 5e9 };
  expect(await runtime.disks!.usedBytes('w1')).toBeNull();
  details = { HostConfig: { ...HostConfig, StorageOpt: null }, SizeRw: 5e9 };
  expect(await runtime.disks!.usedBytes('w1')).toBe(5e9);
  refusals = [{ what: `GET /containers/${NAME}/json`, status: 404, message: 'No such container' }];
  expect(await runtime.disks!.usedBytes('w1')).toBeNull();
});
