import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { MAIN } from '../podyard-main.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

const ERROR = "ModuleNotFoundError: No module named 'no_such_model'";
const CRASHING = JSON.stringify({ entrypoint: ['python3', '-c', 'import no_such_model'] });

interface Rollout {
  workersTotal: number;
  trial: {
    state: string;
    reason: string | null;
    lines: string[];
    workerId: string | null;
    servingVersion: number | null;
  };
}

let database: TestDatabase;
let server: ServerProcess;
let home: string;
let api: Api;
let id: string;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
  home = await mkdtemp(join(tmpdir(), 'podyard-trials-'));
  api = new Api(server);
  id = await api.createEndpoint({ name: 'echo', scaling: { idleTimeout: 1 }, flashboot: 'OFF' });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  await rm(home, { recursive: true, force: true });
});

function podyard(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, ...args], { env }, (_, stdout, stderr) =>
      resolve({ status: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const rollout = async () => (await api.call<{ rollout: Rollout }>('GET', `/v2/serverless/${id}/releases`)).rollout;
const noWorker = () => until('no worker', async () => (await rollout()).workersTotal === 0);
const echo = async () => {
  const { output, status } = await api.ended(id, (await api.run(id, { env: 'GREETING' })).id);
  expect(status).toBe('COMPLETED');
  return output;
};

test('from zero, --wait starts one worker that becomes ready and then leaves as idle ones do', async () => {
  const run = await podyard('endpoints', 'update', 'echo', '--env', 'GREETING=good', '--wait');
  expect(run).toMatchObject({ status: 0, stderr: expect.stringMatching(/Version 2 is rolled out: /) });
  expect((await rollout()).trial).toMatchObject({ state: 'PASSED', workerId: expect.any(String) });
  await noWorker();
});

test('a release that cannot start is not rolled out: it exits with 8, shows its output, and the older one works on', async () => {
  const run = await podyard('endpoints', 'update', 'echo', '--args', CRASHING, '--wait');
  expect(run.status).toBe(8);
  expect(run.stderr).toMatch(/podyard: version 3 failed its trial: it exited with code 1:\n {2}Traceback/);
  expect(run.stderr).toContain(`\n  ${ERROR}\nVersion 2 goes on serving.\n`);
  expect(run.stderr).toContain('podyard rollback echo\n');
  expect((await rollout()).trial).toMatchObject({ state: 'FAILED', servingVersion: 2 });
  expect(await echo()).toEqual({ env: 'good' });
});

test('that holds over a kill of the server', async () => {
  await noWorker();
  await server.kill();
  await server.start();
  expect((await rollout()).trial).toMatchObject({ state: 'FAILED', servingVersion: 2 });
  expect(await echo()).toEqual({ env: 'good' });
});

test('a server that is killed during a trial ends it once it is back', async () => {
  await podyard('endpoints', 'update', 'echo', '--args', '', '--env', 'GREETING=better');
  await api.call('POST', `/v2/serverless/${id}/rollout`, { action: 'try' });
  await server.kill();
  await server.start();
  await until('a passed trial', async () => (await rollout()).trial.state === 'PASSED');
  expect(await echo()).toEqual({ env: 'better' });
});

test('a roll-back is tried too', async () => {
  await noWorker();
  const run = await podyard('rollback', 'echo', '--to', '2');
  expect(run).toMatchObject({ status: 0, stderr: expect.stringContaining('Version 5 is rolled out: ') });
  expect(await echo()).toEqual({ env: 'good' });
});

test('a load-balancing release passes once its health path serves, and fails if it never does', async () => {
  const web = await api.createEndpoint({
    name: 'web',
    type: 'LOAD_BALANCING',
    image: 'podyard/web-js:dev',
    scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeout: 1 },
    env: { RUNPOD_INIT_TIMEOUT: '4' },
  });
  expect(await podyard('endpoints', 'update', 'web', '--env', 'A=1', '--wait')).toMatchObject({ status: 0 });
  const [started] = (
    await database.pool.query('select serving_at, ready_at from workers where endpoint_id = $1', [web])
  ).rows;
  expect(started.ready_at).not.toBeNull();
  const wrong = await podyard('endpoints', 'update', 'web', '--env', 'LOADING_MS=600000', '--wait');
  expect(wrong.status).toBe(8);
  expect(wrong.stderr).toContain('version 3 failed its trial: it was not ready within 4 s of its start');
  expect(wrong.stderr).toContain('Version 2 goes on serving.');
});
