import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFakeEngine } from '../../../../test/fake-engine.ts';
import { EngineGpus, type EngineGpusOptions } from './engine-gpus.ts';

/** The script's output in a container with one GPU, by NVIDIA's toolkit. */
const OUTPUT = `### query
GPU-00000000-0000-0000-0000-000000000001, NVIDIA L4, 23034, 570.86.15, [N/A], 00000000:01:00.0

### exit 0
### list
GPU 0: NVIDIA L4 (UUID: GPU-00000000-0000-0000-0000-000000000001)

### exit 0
### driver
CUDA Version                              : 12.8

### exit 0
`;
const OWN = 'a'.repeat(64);

/** Stands in for a Docker Engine with or without NVIDIA's toolkit: /info, and the life of one container. */
let engine: Awaited<ReturnType<typeof startFakeEngine>>;
let info: object;
let startRefusal: { status: number; message: string } | null;
let output: string;
let left: { Id: string; Created: number }[];
let requests: { what: string; body: string }[];
let attached: ServerResponse | undefined;

beforeEach(async () => {
  info = { NCPU: 2, MemTotal: 1e9, Driver: 'overlay2', DriverStatus: null, Runtimes: { runc: {}, nvidia: {} } };
  startRefusal = null;
  output = OUTPUT;
  left = [];
  requests = [];
  engine = await startFakeEngine(async (request, response) => {
    const path = request.url!.split('?')[0]!;
    requests.push({ what: `${request.method} ${path}`, body: await text(request) });
    if (path.endsWith('/attach')) {
      attached = response.writeHead(200);
      attached.flushHeaders();
      return;
    }
    const isRefused = path.endsWith('/start') && startRefusal !== null;
    response.writeHead(isRefused ? startRefusal!.status : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isRefused ? startRefusal : answerTo(path)));
    if (path.endsWith('/start') || (request.method === 'DELETE' && attached)) attached?.end(isRefused ? '' : output);
  });
});
afterEach(() => engine.close());

function answerTo(path: string): unknown {
  if (path === '/info') return info;
  if (path === '/containers/create') return { Id: 'probe' };
  if (path === `/containers/${OWN}/json`) return { Image: 'sha256:own' };
  return path === '/containers/json' ? left : {};
}

async function text(request: IncomingMessage): Promise<string> {
  let all = '';
  for await (const chunk of request) all += chunk;
  return all;
}

const read = (change: Partial<EngineGpusOptions> = {}) =>
  new EngineGpus({
    socketPath: engine.socketPath,
    installation: 'i',
    shares: 1,
    image: null,
    findOwn: async () => OWN,
    ...change,
  }).read();
const bodyOf = (what: string) => JSON.parse(requests.find((request) => request.what === what)!.body);
const whats = () => requests.map(({ what }) => what);

test('GPUs are read in a container of the server’s own image, which gets all of them and is removed', async () => {
  expect(await read()).toMatchObject({
    state: 'read',
    gpus: [{ uuid: 'GPU-00000000-0000-0000-0000-000000000001', gpuTypeId: 'NVIDIA L4', cudaVersion: '12.8' }],
  });
  expect(bodyOf('POST /containers/create')).toMatchObject({
    Image: 'sha256:own',
    HostConfig: {
      AutoRemove: true,
      NetworkMode: 'none',
      DeviceRequests: [{ Driver: 'nvidia', Count: -1, Capabilities: [['gpu', 'utility']] }],
    },
  });
  expect(whats().at(-1)).toBe('DELETE /containers/probe');
});

test('an engine with CDI devices and no NVIDIA runtime is asked by their name', async () => {
  info = { ...info, Runtimes: { runc: {} }, DiscoveredDevices: [{ Source: 'cdi', ID: 'nvidia.com/gpu=0' }] };
  expect(await read()).toMatchObject({ state: 'read' });
  expect(bodyOf('POST /containers/create').HostConfig.DeviceRequests).toEqual([
    { Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=all'] },
  ]);
});

test('what a killed server left is removed, but not a container that another one is just starting', async () => {
  left = [
    { Id: 'old', Created: 1_000 },
    { Id: 'new', Created: Date.now() / 1000 },
  ];
  await read();
  expect(whats()).toContain('DELETE /containers/old');
  expect(whats()).not.toContain('DELETE /containers/new');
});

test('an engine without a driver for GPUs has none', async () => {
  info = { ...info, Runtimes: { runc: {} } };
  startRefusal = { status: 500, message: 'could not select device driver "nvidia" with capabilities: [[gpu utility]]' };
  expect(await read()).toEqual({ state: 'absent' });
  expect(whats().at(-1)).toBe('DELETE /containers/probe');
});

test.each([
  ['nvidia-container-cli: initialization error: nvml error: driver/library version mismatch', /restart the machine$/],
  ['nvidia-container-cli: initialization error: nvml error: driver not loaded', /its driver does not work$/],
  ['something else', /Install the NVIDIA Container Toolkit/],
])(
  'an engine with NVIDIA’s runtime that cannot give GPUs (%s) is an error with what to do',
  async (message, advice) => {
    startRefusal = { status: 500, message };
    expect(await read()).toEqual({
      state: 'unreadable',
      problem: expect.stringContaining(message),
      advice: expect.stringMatching(advice),
    });
  },
);

test('GPUs without nvidia-smi are an error, not none', async () => {
  output = '### absent\n';
  expect(await read()).toMatchObject({ state: 'unreadable', problem: expect.stringContaining('no nvidia-smi') });
});

test('outside a container an image must be named, if the engine says that it has GPUs', async () => {
  const findOwn = async () => null;
  expect(await read({ findOwn })).toMatchObject({
    state: 'unreadable',
    advice: expect.stringContaining('PODYARD_GPU_PROBE_IMAGE'),
  });
  expect(await read({ findOwn, image: 'mine:v1' })).toMatchObject({ state: 'read' });
  expect(bodyOf('POST /containers/create')).toMatchObject({ Image: 'mine:v1', Entrypoint: ['/bin/sh'] });
  info = { ...info, Runtimes: {} };
  expect(await read({ findOwn })).toEqual({ state: 'absent' });
});
