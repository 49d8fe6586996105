import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { MAIN } from '../podyard-main.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

/** Python's own words about a program that cannot start. */
const ERROR = "ModuleNotFoundError: No module named 'no_such_model'";
const CRASHING = JSON.stringify({ entrypoint: ['python3', '-c', 'import no_such_model'] });

interface State {
  state: string;
  since: string | null;
  reason: string | null;
}
interface Ended {
  id: string;
  reason: string;
  lost: boolean;
  exitCode: number;
}
interface Decision {
  actions: { kind: string; workerId: string; cause: string; reason: string }[];
}

let database: TestDatabase;
let server: ServerProcess;
let home: string;
let api: Api;
let id: string;
let jobId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
  home = await mkdtemp(join(tmpdir(), 'podyard-reasons-'));
  api = new Api(server);
  id = await api.createEndpoint({ name: 'broken', image: 'podyard/echo-js:dev', args: CRASHING });
  jobId = (await api.run(id, { echo: 1 })).id;
  await until('three failed starts', async () => (await ended()).length >= 3);
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  await rm(home, { recursive: true, force: true });
});

const ended = async () =>
  (await api.call<{ ended: Ended[] }>('GET', `/v2/serverless/${id}/workers?include=ENDED`)).ended;
const stateOf = () => api.call<State>('GET', `/v2/serverless/${id}/state`);

async function podyard(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
  return promisify(execFile)(process.execPath, [MAIN, ...args], { env });
}

test('ended workers have the traceback of their program as the reason', async () => {
  const [last] = await ended();
  expect(last).toMatchObject({ lost: true, exitCode: 1 });
  expect(last!.reason).toMatch(/^it exited with code 1:\nTraceback \(most recent call last\):\n/);
  expect(last!.reason.endsWith(`\n${ERROR}`)).toBe(true);
});

test('a worker that waits for its next start is unhealthy for that reason', async () => {
  const worker = await until('an unhealthy worker', async () => {
    const { workers } = await api.call<{ workers: { status: string; reason: string | null }[] }>(
      'GET',
      `/v2/serverless/${id}/workers`,
    );
    return workers.find(({ status }) => status === 'UNHEALTHY');
  });
  expect(worker.reason).toContain(ERROR);
});

test('each end is one decision of its own, with cause and traceback', async () => {
  const { decisions } = await api.call<{ decisions: Decision[] }>('GET', `/v2/serverless/${id}/decisions?limit=100`);
  const exits = decisions.flatMap(({ actions }) => actions).filter(({ kind }) => kind === 'exit');
  expect(exits.length).toBeGreaterThanOrEqual(3);
  expect(new Set(exits.map(({ workerId }) => workerId)).size).toBe(exits.length);
  for (const { cause, reason } of exits) {
    expect(cause).toBe('EXITED');
    expect(reason).toContain(ERROR);
  }
});

test('a job that waits says why to a key that may read the log, and no more than the sentence to another', async () => {
  const explain = async (key: string) => {
    const response = await fetch(`${server.url}/v2/${id}/status/${jobId}?explain=1`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return response.text();
  };
  await until('an explanation', async () => (await explain(server.key)).includes('no_such_model'));
  const made = await api.call<{ secret?: string; key?: string }>('POST', '/v2/account/api-keys', {
    name: 'invoke',
    scopes: ['invoke'],
  });
  const text = await explain((made.secret ?? made.key)!);
  expect(text).toContain('"stage"');
  expect(text).not.toContain('no_such_model');
});

test('the endpoint is failing since its first failed start, in the API and the command line', async () => {
  const { state, since, reason } = await stateOf();
  expect(state).toBe('FAILING');
  expect(Date.parse(since!)).toBeLessThan(Date.now());
  expect(reason).toMatch(/^the last \d+ starts failed: it exited with code 1:\n/);
  expect((await podyard('endpoints')).stdout).toMatch(/broken .* failing +the last \d+ starts failed: .*no_such_model/);
});

test('the command line lists ended workers with the error, and shows the log of the last one', async () => {
  const { stdout } = await podyard('workers', 'broken', '--ended');
  expect(stdout).toContain(`it exited with code 1: ${ERROR}`);
  const logs = await until('a log between two starts', async () => {
    const shown = await podyard('logs', 'broken');
    return /^No worker is running. Worker \w+ ended at /.test(shown.stderr) && shown;
  });
  expect(logs.stdout).toContain(ERROR);
  expect((await podyard('decisions', 'broken')).stdout).toContain(ERROR);
});

test('a pod that ends by itself says why', async () => {
  const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
    name: 'broken',
    image: 'podyard/echo-js:dev',
    args: CRASHING,
    cpu: { id: 'cpu3c', vcpuCount: 2 },
  });
  const found = await until('a reason', async () => {
    const one = await api.call<{ reason?: string | null }>('GET', `/v2/pods/${pod.id}?include=REASON`);
    return one.reason?.includes(ERROR) ? one : undefined;
  });
  expect(found.reason).toMatch(/^it exited with code 1; it is started again/);
  expect(await api.call('GET', `/v2/pods/${pod.id}`)).not.toHaveProperty('reason');
  await api.call('DELETE', `/v2/pods/${pod.id}`);
});

test('a working release ends the failure, and the job runs', async () => {
  await api.call('PATCH', `/v2/serverless/${id}`, { args: '' });
  expect(await api.ended(id, jobId)).toMatchObject({ status: 'COMPLETED', output: 1 });
  await until('a healthy endpoint', async () => ['HEALTHY', 'SCALED_TO_ZERO'].includes((await stateOf()).state));
});
