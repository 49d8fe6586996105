import { randomBytes } from 'node:crypto';
import { NO_WORKLOAD_OPTIONS, type WorkloadOptionRules } from '../src/config/workload-option-settings.ts';
import { ImageResolver } from '../src/control/housekeeping/resolve-images.ts';
import { CapacityLedger } from '../src/control/workers/place/capacity-ledger.ts';
import type { WantedWorker } from '../src/control/workers/place/insert-workers.ts';
import { WorkerRunner } from '../src/control/workers/run/run-workers.ts';
import { EndpointScaler } from '../src/control/workers/scale/scale-endpoints.ts';
import { LogCollector } from '../src/control/workloads/collect-logs.ts';
import { ReleaseImages } from '../src/control/workloads/release-images.ts';
import { NO_HUB } from '../src/control/workloads/workload-hub.ts';
import { WorkloadMounts } from '../src/control/workloads/workload-mounts.ts';
import { systemClock } from '../src/core/clock.ts';
import type { EndpointId, UserId } from '../src/core/ids.ts';
import { silentLogger } from '../src/core/logger.ts';
import { createSecretBox } from '../src/core/secret-box.ts';
import { Bus } from '../src/db/bus.ts';
import { createUser } from '../src/domain/access/users.ts';
import { change, type Operation, type Tx } from '../src/domain/change.ts';
import { createEndpoint, type NewEndpoint } from '../src/domain/endpoints/create-endpoint.ts';
import { addToCounters } from '../src/domain/jobs/count-jobs.ts';
import { JobQueue } from '../src/domain/jobs/job-queue.ts';
import type { ModelDoor } from '../src/models/nodes/model-door.ts';
import type { ModelStore } from '../src/models/store/model-store.ts';
import type { Runtime } from '../src/runtimes/runtime.ts';
import { createSimulatedRuntime } from '../src/runtimes/simulated/simulated-runtime.ts';
import type { SimulatedWorld } from '../src/runtimes/simulated/simulated-world.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { newEndpoint } from './new-endpoint.ts';

/** The loops that scale endpoints and run workers, with their own database and a simulated world. */
export class ControlLoops {
  readonly database: TestDatabase;
  readonly userId: UserId;
  readonly bus: Bus;
  readonly resolver: ImageResolver;
  /** Opens and seals secrets of users. */
  readonly secretBox = createSecretBox(randomBytes(32));
  readonly #capacity: CapacityLedger;
  readonly #loops: { start(): void; stop(): Promise<void> }[];

  /** `wrap` puts something in front of the simulated runtime; `modelStore` has the models of workers, which `modelDoor` gives to other machines. */
  static async start(
    world: SimulatedWorld,
    wrap = (runtime: Runtime) => runtime,
    workloadOptions = NO_WORKLOAD_OPTIONS,
    modelStore: ModelStore | null = null,
    modelDoor: ModelDoor | null = null,
  ): Promise<ControlLoops> {
    const database = await createTestDatabase({ maxConnections: 16 });
    const bus = new Bus({
      pool: database.pool,
      databaseUrl: database.url,
      processId: 'test',
      logger: silentLogger,
    });
    const { id } = await createUser(database.pool, { name: 'anna', email: null });
    const runtime = wrap(createSimulatedRuntime({ installation: 'test', world }));
    return new ControlLoops(database, bus, id, { runtime, workloadOptions, modelStore, modelDoor });
  }

  private constructor(
    database: TestDatabase,
    bus: Bus,
    userId: UserId,
    {
      runtime,
      workloadOptions,
      modelStore,
      modelDoor,
    }: {
      runtime: Runtime;
      workloadOptions: WorkloadOptionRules;
      modelStore: ModelStore | null;
      modelDoor: ModelDoor | null;
    },
  ) {
    const { pool } = database;
    const shared = { pool, bus, clock: systemClock, logger: silentLogger };
    const logs = new LogCollector({ ...shared, runtime });
    this.database = database;
    this.userId = userId;
    this.bus = bus;
    this.#capacity = new CapacityLedger({ pool, runtime });
    const { secretBox } = this;
    const releaseImages = new ReleaseImages({ pool, runtime, secretBox });
    const workers = new WorkerRunner({
      ...shared,
      runtime,
      logs,
      capacity: this.#capacity,
      queue: new JobQueue({ pool, processId: 'test', limits: { resultRetentionMs: 1, syncResultRetentionMs: 1 } }),
      notify: { queued: () => {}, ended: () => {} },
      secretBox,
      releaseImages,
      workloadOptions,
      perGpu: { cpus: 'auto', memory: 'auto' },
      mounts: new WorkloadMounts({ pool, storage: null }),
      ...{ modelStore, modelDoor },
      apiUrl: 'http://127.0.0.1:1',
      leaseMs: 40_000,
      graceMs: 0,
      jobStopMs: 0,
      drainMs: 0,
      publishIp: '127.0.0.1',
      publicUrl: null,
      hub: NO_HUB,
    });
    this.resolver = new ImageResolver({ ...shared, runtime, secretBox, releaseImages });
    const insert = (worker: WantedWorker) => workers.insert(worker);
    this.#loops = [
      logs,
      workers,
      new EndpointScaler({ ...shared, demandPool: pool, frozenBudget: async () => 0, insert }),
      this.resolver,
    ];
    for (const loop of this.#loops) loop.start();
  }

  async close(): Promise<void> {
    for (const loop of [...this.#loops].reverse()) await loop.stop();
    await this.database.drop();
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of any query
  async sql(text: string, ...values: unknown[]): Promise<any[]> {
    return (await this.database.pool.query(text, values)).rows;
  }

  /** Has the ledger read the runtime's capacity now: it relies on that for the next seconds. */
  async readCapacity(): Promise<void> {
    this.#capacity.forget();
    await this.#capacity.readFree();
  }

  /** Creates an endpoint of Anna's, with at most one worker by default. */
  async endpoint(fields: Partial<NewEndpoint> = {}): Promise<EndpointId> {
    const { id } = await this.change(
      createEndpoint,
      newEndpoint({ scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeoutSeconds: 60 }, ...fields }),
    );
    return id;
  }

  /** Carries out an operation as Anna. */
  change<Input extends object, Result>(operation: Operation<Tx, Input, Result>, input: Input): Promise<Result> {
    const actor = { userId: this.userId, keyId: 'k' as never, scopes: [{ kind: 'all' as const }] };
    return change({ pool: this.database.pool, bus: this.bus }, actor, operation, input);
  }

  /** Has a worker become ready, as its first take does. */
  async becomeReady(endpointId: EndpointId, workerId: string): Promise<void> {
    await this.sql('update workers set ready_at = now() where id = $1', workerId);
    this.bus.publish('worker', workerId);
    this.bus.publish('demand', endpointId);
    this.bus.publish('ready', endpointId);
  }

  /** Queues a job and notifies the scaler as the data plane does. */
  async submit(endpointId: EndpointId): Promise<void> {
    await this.sql(
      `with job as (
         insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
         values (gen_random_uuid(), $1, 'IN_QUEUE', false, false, '{}', now() + interval '1 day', false)
         returning endpoint_id)
       ${addToCounters({ from: 'job', lane: "'test'", deltas: { queued: 'count(*)' } })}`,
      endpointId,
    );
    this.bus.publish('demand', endpointId);
  }

  /** Notifies the scaler, as a change of the endpoint or its budget does. */
  notify(endpointId: EndpointId): void {
    this.bus.publish('endpoint', endpointId);
  }

  /** Returns the live workers of an endpoint, oldest first. */
  workers(
    endpointId: EndpointId,
  ): Promise<{ id: string; phase: string; reason: string | null; dataCenterId: string }[]> {
    return this.sql(
      `select id, phase, phase_reason as reason, data_center_id as "dataCenterId" from workers
       where endpoint_id = $1 and phase <> 'EXITED' order by created_at, id`,
      endpointId,
    );
  }
}
