import { expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';

/** Starts a process for the API and the queue; `control` starts candidates for the lead. Workers are processes of this machine. */
async function begin() {
  const data = await ServerProcess.start({ runtime: 'process', env: { PODYARD_ROLES: 'api,data' } });
  onTestFinished(() => data.dispose());
  const databaseUrl = await data.databaseUrl();
  const env = { PODYARD_ROLES: 'control', PODYARD_DATA_DIR: data.dataDir };
  const control = async () => {
    const process = await ServerProcess.start({ runtime: 'process', databaseUrl, env });
    onTestFinished(() => process.kill());
    return process;
  };
  return { data, api: new Api(data), control };
}

test('after the leader is killed another one leads within 5 s: no worker starts twice or stops, and jobs continue', async () => {
  const { data, api, control } = await begin();
  const leader = await control();
  const settings = { workers: { min: 0, max: 4 }, scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeout: 1 } };
  const busy = await api.createEndpoint(settings);
  const other = await api.createEndpoint(settings);
  const jobs = await Promise.all([1, 2, 3].map((i) => api.run(busy, { echo: i, delayMs: 15_000 })));
  await until('all run', async () => {
    const states = await Promise.all(jobs.map(({ id }) => api.status(busy, id)));
    return states.every(({ status }) => status === 'IN_PROGRESS');
  });
  const before = (await api.workers(busy)).map(({ id }) => id).sort();
  expect(before).toHaveLength(3);
  await control();

  await leader.kill();
  const killedAt = Date.now();
  const job = await api.run(other, { echo: 'for the new leader' });
  const [started] = await until('the new leader starts a worker', async () => {
    const rows = await data.query<{ at: Date }>('select created_at as at from workers where endpoint_id = $1', [other]);
    return rows.length > 0 && rows;
  });
  expect(started!.at.getTime() - killedAt).toBeLessThan(5_000);
  expect(await api.ended(other, job.id)).toMatchObject({ status: 'COMPLETED', output: 'for the new leader' });

  for (const [i, { id }] of jobs.entries()) {
    expect(await api.ended(busy, id)).toMatchObject({ status: 'COMPLETED', output: i + 1 });
    expect((await api.status(busy, id)).retries ?? 0).toBe(0);
  }
  const ever = await data.query<{ id: string; endpoint_id: string }>('select id, endpoint_id from workers');
  const of = (endpointId: string) => ever.filter((row) => row.endpoint_id === endpointId).map(({ id }) => id);
  expect(of(busy).sort()).toEqual(before);
  expect(of(other)).toHaveLength(1);
  await until(
    'all are idle, and stop',
    async () => (await api.workers(busy)).length + (await api.workers(other)).length === 0,
  );
}, 120_000);
