import { expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';

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
  let job: { id: string };
  const tookMs = await fairMs(async () => {
    job = await api.run(other, { echo: 'for the new leader' });
    await until('the new leader starts a worker', async () => {
      return (await data.query('select from workers where endpoint_id = $1', [other])).length > 0;
    });
  });
  expect(tookMs).toBeLessThan(5_000);
  expect(await api.ended(other, job!.id)).toMatchObject({ status: 'COMPLETED', output: 'for the new leader' });

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
});

test('a frozen leader is replaced within 10 s, and steps down without a write when it thaws', async () => {
  const { data, api, control } = await begin();
  const frozen = await control();
  const settings = { workers: { min: 0, max: 2 }, scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeout: 1 } };
  const first = await api.createEndpoint(settings);
  expect(await api.ended(first, (await api.run(first, { echo: 'before' })).id)).toMatchObject({ status: 'COMPLETED' });
  const standby = await control();
  await recordWrites(data);

  process.kill(frozen.pid, 'SIGSTOP');
  onTestFinished(() => void (frozen.isRunning && process.kill(frozen.pid, 'SIGCONT')));
  const leads = async () => standby.stderr.includes('this process leads');
  expect(await fairMs(() => until('the other one leads', leads, 60_000))).toBeLessThan(10_000);
  const second = await api.createEndpoint(settings);
  const jobs = await Promise.all([first, second].map((id) => api.run(id, { echo: id })));

  process.kill(frozen.pid, 'SIGCONT');
  await until('it steps down', async () => frozen.stderr.includes('this process no longer leads'));
  for (const [i, id] of [first, second].entries()) {
    expect(await api.ended(id, jobs[i]!.id)).toMatchObject({ status: 'COMPLETED', output: id });
  }
  const [current] = await data.query<{ epoch: string }>('select epoch::text from leadership');
  const epochs = await data.query<{ epoch: string }>('select distinct epoch from written where at > $1', [
    await epochBegan(data, current!.epoch),
  ]);
  expect(epochs.map(({ epoch }) => epoch)).toEqual([current!.epoch]);
  expect(frozen.isRunning).toBe(true);
});

/** Records the epoch of each statement of control that changes workers or counters. */
async function recordWrites(data: ServerProcess): Promise<void> {
  await data.query('create table written (epoch text not null, at timestamptz not null default clock_timestamp())');
  await data.query(`
    create function record_write() returns trigger language plpgsql as $$
    begin
      insert into written (epoch) values (current_setting('podyard.epoch'));
      return null;
    end $$`);
  for (const table of ['workers', 'endpoint_counters', 'worker_activity', 'jobs', 'log_lines']) {
    await data.query(
      `create trigger record_write after insert or update or delete on ${table} for each statement
       when (current_setting('podyard.epoch', true) <> '') execute function record_write()`,
    );
  }
}

async function epochBegan(data: ServerProcess, epoch: string): Promise<Date> {
  const [row] = await data.query<{ at: Date }>('select min(at) as at from written where epoch = $1', [epoch]);
  return row!.at;
}
