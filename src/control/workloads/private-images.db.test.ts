import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newEndpoint } from '../../../test/new-endpoint.ts';
import { NO_WORKLOAD_OPTIONS } from '../../config/workload-option-settings.ts';
import { systemClock } from '../../core/clock.ts';
import { newId, type WorkerId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { Bus } from '../../db/bus.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { JobQueue } from '../../domain/jobs/job-queue.ts';
import { createRegistry } from '../../domain/registries/change-registry.ts';
import { insertWorkers } from '../../domain/workers/insert-workers.ts';
import type { RegistryAuth, WorkloadSpec } from '../../runtimes/runtime.ts';
import { createSimulatedRuntime } from '../../runtimes/simulated/simulated-runtime.ts';
import { SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';
import { CapacityLedger } from '../workers/place/capacity-ledger.ts';
import { WorkerRunner } from '../workers/run/run-workers.ts';
import { LogCollector } from './collect-logs.ts';
import { ReleaseImages } from './release-images.ts';
import { NO_HUB } from './workload-hub.ts';
import { WorkloadMounts } from './workload-mounts.ts';

const PASSWORD = 'hunter2-hunter2';
const secretBox = createSecretBox(randomBytes(32));
const pulls: (RegistryAuth | undefined)[] = [];
const started: WorkloadSpec[] = [];

let database: TestDatabase;
let bus: Bus;
let actor: Actor;
beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'test', logger: silentLogger });
  const { id: userId } = await createUser(database.pool, { name: 'anna', email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());
beforeEach(() => {
  pulls.length = 0;
  started.length = 0;
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

/** Starts a worker of a new endpoint in a world where only anna's robot may pull. */
async function runWorker(
  registryId: string | null,
  box = secretBox,
): Promise<{ phase: string; reason: string | null }> {
  const world = new SimulatedWorld({
    pull: (_image, auth) => {
      pulls.push(auth);
      return auth?.username === 'robot' && auth.password === PASSWORD ? { ms: 0 } : { failure: 'pull access denied' };
    },
    behave: (spec) => {
      started.push(spec);
      return {};
    },
    pools: [{ pool: 'ADA_24', gpuTypeId: 'x', dataCenterId: 'LOCAL-1', total: 100 }],
  });
  const { pool } = database;
  const endpoint = await change(
    { pool, bus },
    actor,
    createEndpoint,
    newEndpoint({ image: 'registry.test/private:1', registryId }),
  );
  const id = newId<WorkerId>();
  await insertWorkers(pool, [{ id, endpointId: endpoint.id, reason: 'test', pause: null }]);
  const runtime = createSimulatedRuntime({ installation: 'test', world });
  const logs = new LogCollector({ pool, bus, runtime, logger: silentLogger });
  const runner = new WorkerRunner({
    pool,
    bus,
    clock: systemClock,
    logger: silentLogger,
    runtime,
    logs,
    capacity: new CapacityLedger({ pool, runtime }),
    queue: new JobQueue({ pool, processId: 'test', limits: { resultRetentionMs: 1, syncResultRetentionMs: 1 } }),
    notify: { queued: () => {}, ended: () => {} },
    secretBox: box,
    releaseImages: new ReleaseImages({ pool, runtime, secretBox: box }),
    workloadOptions: NO_WORKLOAD_OPTIONS,
    perGpu: { cpus: 'auto', memory: 'auto' },
    mounts: new WorkloadMounts({ pool, storage: null }),
    modelStore: null,
    modelDoor: null,
    apiUrl: 'http://127.0.0.1:1',
    leaseMs: 40_000,
    graceMs: 0,
    jobStopMs: 0,
    drainMs: 0,
    publishIp: '127.0.0.1',
    publicUrl: null,
    hub: NO_HUB,
  });
  await runner.runOnce();
  await runner.stop(); // waits for the start that is under way
  await logs.stop();
  await runtime.close();
  const [row] = await sql('select phase, phase_reason as reason from workers where id = $1', id);
  await sql(`update workers set phase = 'EXITED' where id = $1`, id);
  return row;
}

const createHub = async (password: string): Promise<string> =>
  (
    await change({ pool: database.pool, bus, secretBox }, actor, createRegistry, {
      name: 'hub',
      username: 'robot',
      password,
    })
  ).id;

test('a private image is pulled with the credentials of the release, which reach only the pull', async () => {
  expect(await runWorker(await createHub(PASSWORD))).toEqual({ phase: 'RUNNING', reason: null });
  expect(pulls).toEqual([{ username: 'robot', password: PASSWORD }]);
  expect(started).toHaveLength(1);
  const [{ registry, ...rest }] = started as [WorkloadSpec];
  expect(registry?.auth).toEqual(pulls[0]); // for runtimes that pull now
  expect(JSON.stringify(rest)).not.toContain(PASSWORD);
  const stored = await sql('select line from log_lines union all select w::text from workers w');
  expect(stored.length).toBeGreaterThan(1);
  expect(JSON.stringify(stored)).not.toContain(PASSWORD);
});

test('without a registry, or with a wrong password, the worker ends with the message of the registry', async () => {
  expect(await runWorker(null)).toEqual({ phase: 'EXITED', reason: 'pull access denied' });
  expect(await runWorker(await createHub('wrong'))).toEqual({ phase: 'EXITED', reason: 'pull access denied' });
  expect(pulls).toEqual([undefined, { username: 'robot', password: 'wrong' }]);
});

test('with another master key the worker ends and says so, and nothing is pulled', async () => {
  const registryId = await createHub(PASSWORD);
  const { phase, reason } = await runWorker(registryId, createSecretBox(randomBytes(32)));
  expect(phase).toBe('EXITED');
  expect(reason).toContain('the master key is not the one it was encrypted with');
  expect(pulls).toEqual([]);
  expect((await runWorker(registryId)).phase).toBe('RUNNING');
});
