/** docs/interface/rest.md, "Pod environment". */
import { expect, test } from 'vitest';
import type { PodId } from '../../core/ids.ts';
import { podEnv } from './pod-env.ts';

const POD = { id: 'p1' as PodId, dataCenterId: 'EU-RO-1', gpu: { id: 'NVIDIA L4', count: 2 } };
const FOUND = {
  env: { MINE: '1', RUNPOD_POD_ID: 'other' },
  storageEnv: { RUNPOD_VOLUME_ID: 'v1' },
  cpus: 4,
  memoryBytes: 8.5 * 2 ** 30,
  defaults: { publicKeys: 'ssh-ed25519 A', apiKey: 'pyk_own', publicUrl: null },
  jupyterPassword: null,
  publicIp: '192.0.2.1',
  tcpPorts: new Map([[22, 30_022]]),
};

test("a pod learns what and where it is, and the user's env cannot override it", () => {
  expect(podEnv(POD, FOUND)).toEqual({
    MINE: '1',
    PUBLIC_KEY: 'ssh-ed25519 A',
    RUNPOD_API_KEY: 'pyk_own',
    RUNPOD_VOLUME_ID: 'v1',
    RUNPOD_POD_ID: 'p1',
    RUNPOD_POD_HOSTNAME: 'p1',
    RUNPOD_DC_ID: 'EU-RO-1',
    RUNPOD_GPU_COUNT: '2',
    RUNPOD_GPU_TYPE_ID: 'NVIDIA L4',
    RUNPOD_GPU_NAME: 'NVIDIA+L4',
    RUNPOD_CPU_COUNT: '4',
    RUNPOD_MEM_GB: '8',
    RUNPOD_PUBLIC_IP: '192.0.2.1',
    RUNPOD_TCP_PORT_22: '30022',
  });
});

test("the user's own keys win over the account's SSH keys and the pod's key", () => {
  const env = { PUBLIC_KEY: 'mine', RUNPOD_API_KEY: 'own' };
  expect(podEnv(POD, { ...FOUND, env })).toMatchObject(env);
});

test('clients in the container find this installation where its address is known, unless the user has another', () => {
  const defaults = { publicKeys: '', apiKey: null, publicUrl: 'https://pods.example.com' };
  const found = { ...FOUND, defaults, env: { RUNPOD_API_BASE_URL: 'https://other' } };
  expect(podEnv(POD, found)).toMatchObject({
    RUNPOD_API_BASE_URL: 'https://other',
    RUNPOD_ENDPOINT_BASE_URL: 'https://pods.example.com/v2',
    RUNPOD_REST_V2_API_URL: 'https://pods.example.com/2026-08',
    RUNPOD_SERVERLESS_API_URL: 'https://pods.example.com/v2',
  });
  expect(podEnv(POD, found)).not.toHaveProperty('RUNPOD_API_KEY');
});

test("JUPYTER_PASSWORD is the pod's own, unless its env sets one", () => {
  expect(podEnv(POD, FOUND)).not.toHaveProperty('JUPYTER_PASSWORD');
  expect(podEnv(POD, { ...FOUND, jupyterPassword: 'made' }).JUPYTER_PASSWORD).toBe('made');
  const given = { ...FOUND, jupyterPassword: 'made', env: { JUPYTER_PASSWORD: 'mine' } };
  expect(podEnv(POD, given).JUPYTER_PASSWORD).toBe('mine');
});

test('a CPU pod has no GPU type, and a pod without published ports no public address', () => {
  const env = podEnv({ ...POD, gpu: null }, { ...FOUND, publicIp: null, tcpPorts: new Map() });
  expect(env.RUNPOD_GPU_COUNT).toBe('0');
  expect(Object.keys(env).filter((name) => /GPU_TYPE|GPU_NAME|PUBLIC_IP|TCP_PORT/.test(name))).toEqual([]);
});
