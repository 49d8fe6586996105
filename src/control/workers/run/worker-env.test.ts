/** docs/interface/worker-api.md, "Worker environment". */
import { expect, test } from 'vitest';
import type { EndpointId, WorkerId } from '../../../core/ids.ts';
import { workerEnv } from './worker-env.ts';

const OPTIONS = {
  apiUrl: 'http://10.0.0.1:9000',
  leaseMs: 40_000,
  token: 'secret',
  gpuTypeId: 'NVIDIA L4',
  dataCenterId: 'EU-RO-1',
  cpus: 4,
  memoryBytes: 8.5 * 2 ** 30,
  canSleep: false,
  ports: null,
  defaults: { publicKeys: 'ssh-ed25519 A', apiKey: 'pyk_own', publicUrl: null },
  publicIp: '192.0.2.1',
  tcpPorts: new Map([[22, 30_022]]),
};
const worker = (env: Record<string, string> = {}) => ({
  id: 'w1' as WorkerId,
  endpointId: 'e1' as EndpointId,
  gpuCount: 2,
  spec: { env },
});

test('the protocol variables are complete URLs with a query, and only the job id is left to the worker', () => {
  expect(workerEnv(worker(), OPTIONS)).toEqual({
    RUNPOD_WEBHOOK_GET_JOB: 'http://10.0.0.1:9000/v2/e1/job-take/w1?gpu=NVIDIA%20L4',
    RUNPOD_WEBHOOK_POST_OUTPUT: 'http://10.0.0.1:9000/v2/e1/job-done/w1/$ID?gpu=NVIDIA%20L4',
    RUNPOD_WEBHOOK_POST_STREAM: 'http://10.0.0.1:9000/v2/e1/job-stream/w1/$ID?gpu=NVIDIA%20L4',
    RUNPOD_WEBHOOK_PING: 'http://10.0.0.1:9000/v2/e1/ping/w1?gpu=NVIDIA%20L4',
    RUNPOD_PING_INTERVAL: '10000',
    RUNPOD_AI_API_KEY: 'secret',
    RUNPOD_AI_API_ID: 'e1',
    RUNPOD_POD_ID: 'w1',
    RUNPOD_POD_HOSTNAME: 'w1',
    RUNPOD_ENDPOINT_ID: 'e1',
    RUNPOD_GPU_COUNT: '2',
    RUNPOD_CPU_COUNT: '4',
    RUNPOD_MEM_GB: '8',
    RUNPOD_DC_ID: 'EU-RO-1',
    RUNPOD_GPU_TYPE_ID: 'NVIDIA L4',
    RUNPOD_GPU_NAME: 'NVIDIA+L4',
    PUBLIC_KEY: 'ssh-ed25519 A',
    RUNPOD_API_KEY: 'pyk_own',
    RUNPOD_PUBLIC_IP: '192.0.2.1',
    RUNPOD_TCP_PORT_22: '30022',
  });
});

test("the user's env is kept, but cannot override the protocol's variables", () => {
  const env = workerEnv(worker({ MINE: '1', RUNPOD_POD_ID: 'other', RUNPOD_AI_API_KEY: 'other' }), OPTIONS);
  expect(env).toMatchObject({ MINE: '1', RUNPOD_POD_ID: 'w1', RUNPOD_AI_API_KEY: 'secret' });
  const own = { PUBLIC_KEY: 'mine', RUNPOD_API_KEY: 'own' };
  expect(workerEnv(worker(own), OPTIONS)).toMatchObject(own);
});

test('a load-balancing worker learns its ports; one without a known GPU type or data center gets neither', () => {
  const env = workerEnv(worker(), {
    ...OPTIONS,
    gpuTypeId: null,
    dataCenterId: null,
    ports: { http: 80, health: 81 },
  });
  expect(env).toMatchObject({ PORT: '80', PORT_HEALTH: '81', RUNPOD_DC_ID: '' });
  expect(env).not.toHaveProperty('RUNPOD_GPU_TYPE_ID');
});

test('the ping interval follows a short lease, so that a late ping is no silence', () => {
  expect(workerEnv(worker(), { ...OPTIONS, leaseMs: 8_000 }).RUNPOD_PING_INTERVAL).toBe('2000');
});
