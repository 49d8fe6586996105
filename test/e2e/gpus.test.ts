import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { MAIN } from '../podyard-main.ts';
import { GpuMachine, standInGpu } from '../stand-ins/gpu-machine.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

const slice = { uuid: 'MIG-00000000-0000-0000-0000-000000000001', profile: '1g.10gb' };
const [one, two] = [standInGpu(1), standInGpu(2)];
const a100 = standInGpu(3, { name: 'NVIDIA A100-SXM4-80GB', memoryMib: 81_920, mig: [slice] });
/** Says what it sees of the machine's GPUs, as CUDA would. */
const ECHO_GPUS = `
import os, urllib.request, json, time
print('sees ' + os.environ.get('CUDA_VISIBLE_DEVICES', 'all'), flush=True)
while True: time.sleep(60)
`;

let database: TestDatabase;
let machine: GpuMachine;
let server: ServerProcess;
let api: Api;
beforeAll(async () => {
  database = await createTestDatabase();
  machine = new GpuMachine('nvidia-smi', { gpus: [one, two, a100], cuda: '12.4' });
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

interface Worker {
  id: string;
  status: string;
  gpuTypeId: string | null;
}

const endpoint = (name: string, pool: string, change: object = {}) =>
  api.createEndpoint({
    name,
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: ['python3', '-c', ECHO_GPUS] }),
    gpu: { pools: [pool], count: 1 },
    workers: { min: 1, max: 1 },
    ...change,
  });
const workersOf = async (id: string) =>
  (await api.call<{ workers: Worker[] }>('GET', `/v2/serverless/${id}/workers`)).workers;
/** The GPU that the endpoint's latest worker printed. */
async function seenBy(id: string): Promise<string> {
  return until('the worker says what it sees', async () => {
    const rows = await database.pool.query<{ line: string }>(
      `select l.line from log_lines l join workers w on w.id = l.workload_id
       where w.endpoint_id = $1 and w.phase <> 'EXITED' and l.line like 'sees %' order by l.seq desc limit 1`,
      [id],
    );
    return rows.rows[0]?.line.slice('sees '.length);
  });
}

test('real GPUs are used and named: whole ones, a slice, and none is simulated', async () => {
  expect(server.stdout + server.stderr).not.toMatch(/simulated \(/);
  expect(await api.call('GET', '/v2/account/installation')).toMatchObject({ gpus: 'REAL' });
  const { gpus } = await api.call<{ gpus: { id: string; pool: string; availability: string }[] }>(
    'GET',
    '/v2/catalog/gpus?include=AVAILABILITY&product=SERVERLESS',
  );
  const found = gpus.filter(({ availability }) => availability !== 'NONE').map(({ id, pool }) => [id, pool]);
  expect(found.sort()).toEqual([
    ['NVIDIA A100-SXM4-80GB MIG 1g.10gb', 'AMPERE_80_MIG_1G_10GB'],
    ['NVIDIA GeForce RTX 4090', 'ADA_24'],
  ]);
});

test('a worker sees its own GPU or slice by UUID, and is replaced on another GPU when it is lost', async () => {
  const sliced = await endpoint('sliced', 'AMPERE_80_MIG_1G_10GB');
  expect(await seenBy(sliced)).toBe(slice.uuid);
  const whole = await endpoint('whole', 'ADA_24');
  const before = await seenBy(whole);
  expect([one.uuid, two.uuid]).toContain(before);
  machine.changeGpu(before, { lost: 'GPU is lost.  Reboot the system to recover this GPU' });
  const other = before === one.uuid ? two.uuid : one.uuid;
  await until('it is replaced on the other GPU', async () => (await seenBy(whole)) === other, 60_000);
  const { ended } = await api.call<{ ended: { reason: string }[] }>(
    'GET',
    `/v2/serverless/${whole}/workers?include=ENDED`,
  );
  expect(ended[0]!.reason).toBe(`its GPU is lost: ${before} (NVIDIA GeForce RTX 4090) does not answer: GPU is lost`);
  const second = await endpoint('second', 'ADA_24');
  await until('it waits and names the GPU', async () => {
    const reason = await database.pool.query('select phase_reason from workers where endpoint_id = $1', [second]);
    return String(reason.rows[0]?.phase_reason).includes(`${before} (NVIDIA GeForce RTX 4090) does not answer`);
  });
  expect(await seenBy(sliced)).toBe(slice.uuid); // the lost GPU took no other one with it
  machine.changeGpu(before, { lost: '' });
  await until('it starts once the GPU answers', async () => (await workersOf(second))[0]?.gpuTypeId != null, 60_000);
  expect(await seenBy(second)).toBe(before);
});

test('a driver that fails ends the first start with what to do, and doctor says the same', async () => {
  const broken = new GpuMachine('nvidia-smi', { gpus: [one], state: 'mismatch' });
  const dataDir = `${broken.folder}-data`;
  const env = { ...process.env, PATH: broken.path, PODYARD_SIMULATE_GPUS: '' };
  const run = (...args: string[]) =>
    promisify(execFile)(
      process.execPath,
      [MAIN, ...args, '--data-dir', dataDir, '--runtime', 'process', '--port', '0'],
      {
        env,
        timeout: 60_000,
      },
    ).then(
      ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
      (error) => ({ code: error.code as number, text: String(error.stdout) + String(error.stderr) }),
    );
  const problem = /Driver\/library version mismatch/;
  const doctor = await run('doctor');
  expect(doctor).toMatchObject({ code: 1, text: expect.stringMatching(problem) });
  expect(doctor.text).toContain('restart the machine');
  const serve = await run('serve');
  expect(serve).toMatchObject({ code: 1, text: expect.stringMatching(problem) });
  expect(serve.text).toContain('To do without them: --simulate-gpus ADA_24:4');
  broken.remove();
  await rm(dataDir, { recursive: true, force: true });
});
