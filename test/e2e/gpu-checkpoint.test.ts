import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { GpuMachine, standInGpu } from '../stand-ins/gpu-machine.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

const KIT = new URL('../../workers/javascript/podyard-worker.js', import.meta.url).pathname;
const GPU_MIB = 1_000;
const MODEL_MIB = 700;

let database: TestDatabase;
let machine: GpuMachine;
let server: ServerProcess;
let api: Api;
beforeAll(async () => {
  database = await createTestDatabase();
  machine = new GpuMachine('nvidia-smi', {
    gpus: [standInGpu(1, { memoryMib: GPU_MIB })],
    cuda: '12.8',
    driver: '570.86',
  });
  machine.add('cuda-checkpoint');
  server = await ServerProcess.start({
    runtime: 'process',
    databaseUrl: database.url,
    env: { PATH: machine.path, PODYARD_SIMULATE_GPUS: '' },
  });
  api = new Api(server);
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  machine?.remove();
});

/** Allocates GPU memory in the ledger as a program with CUDA would, and uses it with each job; knows nothing of sleeping. */
const program = (mib: number) => `
import { start } from '${KIT}';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
const folder = '${machine.folder}';
const read = (name) => JSON.parse(readFileSync(folder + '/' + name, 'utf8'));
const isAlive = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };
const uuid = process.env.CUDA_VISIBLE_DEVICES;
const used = readdirSync(folder).filter((name) => name.startsWith('cuda-') && name.endsWith('.json') && isAlive(Number(name.slice(5, -5))))
  .map(read).filter((one) => one.uuid === uuid && one.state !== 'checkpointed').reduce((sum, { mib }) => sum + mib, 0);
if (used + ${mib} > ${GPU_MIB}) { console.error('CUDA error: out of memory'); process.exit(1); }
const own = 'cuda-' + process.pid + '.json';
writeFileSync(folder + '/' + own, JSON.stringify({ uuid, mib: ${mib}, state: 'running' }));
await start({ handler: async () => {
  if (read(own).state !== 'running') throw new Error('its GPU memory is away');
  return process.pid;
} });
`;
const endpoint = (mib = MODEL_MIB, more: object = {}) =>
  api.createEndpoint({
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: ['node', '--input-type=module', '-e', program(mib)] }),
    gpu: { pools: ['ADA_24'], count: 1 },
    flashboot: 'FLASHBOOT',
    scaling: { idleTimeout: 60 },
    ...more,
  });

test('the installation says that any program with CUDA can sleep', async () => {
  expect(await api.call('GET', '/v2/account/installation')).toMatchObject({ gpus: 'REAL', sleep: 'CHECKPOINT' });
});

test('two programs that fill a GPU take turns on it by checkpoints, and neither starts twice', async () => {
  const ids = [await endpoint(), await endpoint()];
  const pids: unknown[] = [];
  for (let i = 0; i < 6; i++) {
    const job = await api.runToEnd(ids[i % 2]!, {});
    expect(job).toMatchObject({ status: 'COMPLETED' });
    pids.push(job.output);
  }
  expect(new Set(pids).size).toBe(2);
  await until('the log says how long each took', async () => {
    const { rows } = await database.pool.query<{ line: string }>("select line from log_lines where source = 'system'");
    return [/^asleep after \d+ ms: /, /^awake after \d+ ms: /].every((says) =>
      rows.some(({ line }) => says.test(line)),
    );
  });
  for (const id of ids) await api.delete(id);
});
