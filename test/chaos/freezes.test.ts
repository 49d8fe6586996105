/**
 * A server, its database or the whole machine is frozen for longer than a lease, as when a laptop is closed: afterwards no
 * worker is called silent, and no job has failed or run twice (docs/interface/worker-api.md, "Leases").
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';

const LEASE_SECONDS = 6;
const FREEZE_MS = 2 * LEASE_SECONDS * 1_000;

let server: ServerProcess;
let api: Api;
let endpoint: string;

beforeAll(async () => {
  const env = { PODYARD_LEASE_SECONDS: String(LEASE_SECONDS), PODYARD_TAKE_HOLD_SECONDS: '2' };
  server = await ServerProcess.start({ runtime: 'process', env });
  api = new Api(server);
  endpoint = await api.createEndpoint({ workers: { min: 2, max: 2 } });
  await until('both wait', async () => (await api.workers(endpoint)).filter((w) => w.status === 'IDLE').length === 2);
});
afterAll(() => server?.dispose());

/** A process and all that it started, by `/proc`. */
function family(pid: number): number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      return [[Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])] as const];
    } catch {
      return []; // no process, or over meanwhile
    }
  });
  const members = [pid];
  for (const member of members) for (const [child, parent] of parents) if (parent === member) members.push(child);
  return members;
}

const serverPids = () => [server.pid];
const databasePids = async () => family((await server.postmaster()).pid);
/** Workers are groups of their own, started by the server: they stand below it. */
const machinePids = async () => [...family(server.pid), ...(await databasePids())];

test.each([
  ['the server', async () => serverPids()],
  ['its database', databasePids],
  ['the whole machine', machinePids],
])('after a freeze of %s the job continues where it was, with the same worker', async (_, pidsOf) => {
  const before = (await api.workers(endpoint)).map(({ id }) => id).sort();
  const { id: jobId } = await api.run(endpoint, { progress: ['begun'], delayMs: FREEZE_MS + 4_000 });
  const worker = await until('it runs', async () => {
    const job = await api.status(endpoint, jobId);
    return job.output === 'begun' && job.workerId;
  });
  const pids = await pidsOf();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, FREEZE_MS)); // the freeze itself
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  const done = await api.ended(endpoint, jobId, 60_000);
  expect(done).toMatchObject({ status: 'COMPLETED', workerId: worker });
  expect(done.retries).toBeUndefined();
  expect((await api.workers(endpoint)).map(({ id }) => id).sort()).toEqual(before);
});
