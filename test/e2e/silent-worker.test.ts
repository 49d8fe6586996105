import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

const LEASE_SECONDS = 12;

let database: TestDatabase;
let server: ServerProcess;
beforeAll(async () => {
  database = await createTestDatabase();
  const env = { PODYARD_LEASE_SECONDS: String(LEASE_SECONDS), PODYARD_GRACE_SECONDS: '20' };
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
});

test('a silent worker loses its job when the lease expires, and its late result is dropped', async () => {
  const api = new Api(server);
  const id = await api.createEndpoint({ workers: { min: 2, max: 2 } });
  // Both are idle, so that the second one has the job when the first returns.
  await until('both wait', async () => (await api.workers(id)).filter((w) => w.status === 'IDLE').length === 2);
  const { id: jobId } = await api.run(id, { env: 'RUNPOD_POD_ID', delayMs: 4_000 }); // long enough to be frozen meanwhile
  const first = await until('it runs', async () => {
    const job = await api.status(id, jobId);
    return job.status === 'IN_PROGRESS' && job.workerId;
  });
  const file = join(server.dataDir, 'process', server.installation, first, 'process');
  const group = Number((await readFile(file, 'utf8')).split(' ')[0]);
  process.kill(-group, 'SIGSTOP');
  const stoppedAt = Date.now();
  const done = await api.ended(id, jobId, 60_000);
  expect(done).toMatchObject({ status: 'COMPLETED', retries: 1 });
  expect(done.workerId).not.toBe(first);
  expect(done.output).toEqual({ env: done.workerId });
  expect(Date.now() - stoppedAt).toBeGreaterThan((LEASE_SECONDS - 3) * 1000);
  try {
    process.kill(-group, 'SIGCONT'); // the runtime may have ended it already
  } catch {}
  await until('it is gone', async () => !(await api.workers(id)).some((worker) => worker.id === first));
  expect(await api.status(id, jobId)).toEqual(done);
  expect(await api.call('GET', `/v2/${id}/health`)).toMatchObject({ jobs: { completed: 1, failed: 0, retried: 1 } });
  await api.delete(id);
});
