import type { Stock } from '../src/domain/catalog/capacity-source.ts';
import type { PodUsage } from '../src/domain/pods/pod-figures.ts';
import { type RestFixture, startRestApp } from './rest-app.ts';

export const GIB = 2 ** 30;
/** Has room for a thousand pods with one. */
export const GPU = 'NVIDIA GeForce RTX 4090';
export const stock: Stock = {
  gpus: [
    {
      pool: 'ADA_24',
      gpuTypeId: GPU,
      dataCenterId: 'LOCAL-1',
      total: 1_000,
      free: 1_000,
      cudaVersion: '12.8',
      machine: { cpus: 64, memoryBytes: 256 * GIB, gpus: 8 },
    },
  ],
  cpus: 8,
  memoryBytes: 32 * GIB,
};
const usage: PodUsage = { cpuUtil: 12.5, memoryUtil: 33, gpus: [{ util: 87, memoryUtil: 41 }] };

export const PATH = '/v2/pods';
export const minimal = { name: 'least', image: 'podyard/echo:1', gpu: { id: GPU } };
export const cpuPod = { name: 'cpu', image: 'i', cpu: { id: 'cpu3c', vcpuCount: 2 } };

/** Starts an app whose machine has room for every pod, and whose pods all have the same figures. */
export const startPodApp = () =>
  startRestApp({
    capacity: { read: async () => stock },
    podFigures: { read: async (ids) => new Map(ids.map((id) => [id, usage])) },
  });

/** The requests of these tests, as alice unless a key is given. */
export function podRequests(rest: () => RestFixture) {
  const create = (body: unknown, key = rest().alice.key) => rest().call('POST', PATH, { key, body });
  const createId = async (more: object = {}, key = rest().alice.key): Promise<string> =>
    (await create({ ...minimal, ...more }, key)).json().id;
  const get = (id: string, key = rest().alice.key) => rest().call('GET', `${PATH}/${id}`, { key });
  const read = async (id: string) => (await get(id)).json();
  const update = (id: string, body: unknown, key = rest().alice.key) =>
    rest().call('PATCH', `${PATH}/${id}`, { key, body });
  const act = (id: string, action: unknown, key = rest().alice.key) =>
    rest().call('POST', `${PATH}/${id}/action`, { key, body: { action } });
  const remove = (id: string, key = rest().alice.key) => rest().call('DELETE', `${PATH}/${id}`, { key });
  const createVolume = async (dataCenter = 'LOCAL-1', key = rest().alice.key): Promise<string> => {
    const body = { name: 'data', size: 10, dataCenter };
    return (await rest().call('POST', '/v2/network-volumes', { key, body })).json().id;
  };
  const createTemplate = async (more: object, key = rest().alice.key): Promise<string> => {
    const body = { name: `template ${Math.random()}`, image: 'from/template:1', ...more };
    return (await rest().call('POST', '/v2/templates', { key, body })).json().id;
  };
  /** Sets what control would observe. */
  const observe = (id: string, phase: string) =>
    rest().database.pool.query(
      `update pods set phase = $2, phase_revision = revision, address = '10.0.0.7', started_at = now() - interval '1 minute',
         published_ports = '[{"private": 22, "public": 32768, "type": "tcp", "ip": "127.0.0.1"}]' where id = $1`,
      [id, phase],
    );
  const revisionOf = async (id: string): Promise<number> =>
    (await rest().database.pool.query('select revision from pods where id = $1', [id])).rows[0].revision;
  return { create, createId, get, read, update, act, remove, createVolume, createTemplate, observe, revisionOf };
}
