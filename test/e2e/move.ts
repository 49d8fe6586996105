import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, type Job, until } from './api.ts';
import { run, runToFailure } from './podyard-command.ts';
import { ServerProcess, type ServerProcessOptions } from './server-process.ts';

const IMAGE = 'podyard/echo-js:dev';
const LISTS = {
  endpoints: '/v2/serverless',
  pods: '/v2/pods',
  templates: '/v2/templates',
  secrets: '/v2/account/secrets',
  registries: '/v2/registries',
  networkVolumes: '/v2/network-volumes',
  apiKeys: '/v2/account/api-keys',
};
/** Longer than stopping a server takes on a busy machine. */
const SLOW_MS = 15_000;
/** So long that a job which waits for the end of its lease fails the test. */
const LEASE = { PODYARD_LEASE_SECONDS: '600' };

/**
 * Moves everything from a server with its embedded database to one with an external database and another runtime, and with
 * `andBack` back again, while jobs wait and one runs. Ids and keys stay the same, and each job has one result.
 */
export function moveTests(
  first: ServerProcessOptions,
  elsewhere: () => ServerProcessOptions,
  { andBack = true }: { andBack?: boolean } = {},
): void {
  let here: ServerProcess;
  let there: ServerProcess;
  let database: TestDatabase;
  let settings: Record<string, string>;
  let endpointId: string;
  let podId: string;
  let before: unknown;
  let jobs: Job[];

  beforeAll(async () => {
    database = await createTestDatabase();
    here = await ServerProcess.start({ ...first, env: { ...first.env, ...LEASE } });
    const masterKey = (await readFile(join(here.dataDir, 'master-key'), 'utf8')).trim();
    const { env = {}, ...second } = elsewhere();
    settings = env;
    there = await ServerProcess.create({
      ...second,
      databaseUrl: database.url,
      env: { ...env, ...LEASE, PODYARD_MASTER_KEY: masterKey, PODYARD_ADMIN_KEY: here.key },
    });
  });
  afterAll(async () => {
    await here?.dispose();
    await there?.dispose();
    await database?.drop();
  });

  const api = (server: ServerProcess) => new Api({ url: server.url, key: here.key });
  const isPodUp = async (server: ServerProcess) =>
    (await api(server).call<{ status: string }>('GET', `/v2/pods/${podId}`)).status === 'RUNNING';
  const has = async (server: ServerProcess) => {
    const running = (await server.listWorkloads()).filter(({ state }) => state === 'running');
    return running.map(({ kind }) => kind).sort();
  };

  /** Returns all records, without the fields that change by themselves. */
  async function everything(server: ServerProcess): Promise<unknown> {
    const records = await Promise.all(
      Object.entries(LISTS).map(async ([name, path]) => {
        const answer = await api(server).call<Record<string, { id: string; name: string; createdAt?: string }[]>>(
          'GET',
          path,
        );
        const list = Object.values(answer).find(Array.isArray)!;
        return [name, list.map(({ id, name: called, createdAt }) => ({ id, called, createdAt }))];
      }),
    );
    return Object.fromEntries(records);
  }

  /** Submits a job that runs for a while, and three that wait behind it. */
  async function submitSome(server: ServerProcess): Promise<void> {
    const slow = await api(server).run(endpointId, { echo: 0, delayMs: SLOW_MS });
    await until('one runs', async () => (await api(server).status(endpointId, slow.id)).status === 'IN_PROGRESS');
    jobs = [slow, ...(await Promise.all([1, 2, 3].map((echo) => api(server).run(endpointId, { echo }))))];
  }

  /** Checks that the job that ran was retried at once, not after its lease, and that each has one result. */
  async function checkJobs(server: ServerProcess, since: number): Promise<void> {
    const readyAt = Date.now();
    const ended = await Promise.all(jobs.map(({ id }) => api(server).ended(endpointId, id, 120_000)));
    const [worker] = await server.query<{ startMs: number }>(
      'select round(extract(epoch from ready_at - created_at) * 1000)::int as "startMs" from workers where phase = \'RUNNING\'',
    );
    const took = `ready after ${readyAt - since} ms, its worker in ${worker?.startMs} ms, all jobs ended after ${Date.now() - since} ms`;
    console.log(`${server.runtime}: ${took}`);
    for (const [echo, job] of ended.entries()) {
      expect(job).toMatchObject({ status: 'COMPLETED', output: echo });
      expect(job.retries ?? 0).toBe(echo === 0 ? 1 : 0);
    }
    const counted = await server.query<{ count: number }>(
      'select count(*)::int as count from finished_jobs where id = any($1)',
      [jobs.map(({ id }) => id)],
    );
    expect(counted).toEqual([{ count: jobs.length }]);
  }

  const endThere = async () => {
    expect(await there.stop()).toBe(0);
    const stop = ['stop-workers', '--data-dir', there.dataDir, '--database-url', database.url];
    expect(await run(stop, settings)).toContain(`1 worker and 1 pod of the ${there.runtime} runtime were stopped`);
    expect(await has(there)).toEqual([]);
  };

  test('everything moves to an external database, with waiting jobs and a running one', async () => {
    const client = api(here);
    await client.call('POST', '/v2/account/secrets', { name: 'token', value: 'hunter2' });
    await client.call('POST', '/v2/registries', { name: 'private', username: 'u', password: 'p' });
    await client.call('POST', '/v2/network-volumes', { name: 'models', size: 10, dataCenter: 'LOCAL-1' });
    await client.call('POST', '/v2/templates', { name: 'base', image: IMAGE });
    await client.call('POST', '/v2/account/api-keys', { name: 'ci', scopes: ['invoke'] });
    endpointId = await client.createEndpoint({
      workers: { min: 0, max: 1 },
      scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 600 },
      env: { TOKEN: '{{ RUNPOD_SECRET_token }}' },
    });
    const pod = await client.call<{ id: string }>('POST', '/v2/pods', {
      name: 'stays',
      image: IMAGE,
      args: JSON.stringify({ entrypoint: ['node', '-e', 'setInterval(() => {}, 1000)'] }),
      gpu: { id: 'NVIDIA GeForce RTX 4090' },
    });
    podId = pod.id;
    await until('the pod runs', () => isPodUp(here), 60_000);
    before = await everything(here);
    await submitSome(here);
    expect(await here.stop()).toBe(0);

    const text = await run(['move', '--data-dir', here.dataDir, '--to', database.url]);
    expect(text).toContain(`1 worker and 1 pod may still run (${here.runtime})`);
    await expect(here.start()).rejects.toThrow('this database was moved to');
  });

  test('a server with another runtime restarts the workloads and finishes the same jobs', async () => {
    const since = Date.now();
    await there.start();
    expect(there.stderr).toContain('runtime changed: starting workloads again');
    expect([there.installation, await everything(there)]).toEqual([here.installation, before]);
    await checkJobs(there, since);
    await until('the pod runs', () => isPodUp(there), 60_000);
    const { output } = await api(there).runToEnd(endpointId, { env: 'TOKEN' });
    expect(output).toEqual({ env: 'hunter2' });
    const failed = 'select id from workers where is_lost';
    expect(await there.query(failed)).toEqual([]);
    expect(await has(there)).toEqual(['pod', 'worker']);
  }, 240_000);

  if (!andBack) {
    test('after that server has stopped, stop-workers ends its workloads', endThere, 120_000);
    return;
  }

  test('stop-workers ends the workloads of the former runtime while the server runs, and leaves those of the server', async () => {
    expect(await has(here)).toEqual(['pod', 'worker']);
    const stop = ['stop-workers', '--data-dir', here.dataDir, '--database-url', database.url];
    expect(await runToFailure(stop)).toContain('a server runs on postgresql://');
    expect(await run([...stop, '--runtime', here.runtime])).toContain(
      `1 worker and 1 pod of the ${here.runtime} runtime were stopped`,
    );
    expect([await has(here), await has(there)]).toEqual([[], ['pod', 'worker']]);
  });

  test('everything moves back the same way', async () => {
    await submitSome(there);
    await endThere();
    await run(['move', '--data-dir', here.dataDir, '--database-url', database.url, '--to', 'embedded']);
    const since = Date.now();
    await here.start();
    expect(await everything(here)).toEqual(before);
    await checkJobs(here, since);
    await until('the pod runs', () => isPodUp(here), 60_000);
    await expect(there.start()).rejects.toThrow('this database was moved to the embedded database in');
  }, 240_000);
}
