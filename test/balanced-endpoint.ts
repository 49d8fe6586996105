import { type EndpointId, newId, type WorkerId } from '../src/core/ids.ts';
import { silentLogger } from '../src/core/logger.ts';
import { Bus } from '../src/db/bus.ts';
import { createUser } from '../src/domain/access/users.ts';
import { change } from '../src/domain/change.ts';
import { createEndpoint } from '../src/domain/endpoints/create-endpoint.ts';
import { insertWorkers } from '../src/domain/workers/insert-workers.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { newEndpoint } from './new-endpoint.ts';

/** A load-balancing endpoint in its own database, whose workers are rows only. */
export class BalancedEndpoint {
  readonly id: EndpointId;
  readonly database: TestDatabase;
  readonly bus: Bus;

  static async create(): Promise<BalancedEndpoint> {
    const database = await createTestDatabase();
    const bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'test', logger: silentLogger });
    await bus.start();
    const { id: userId } = await createUser(database.pool, { name: 'anna', email: null });
    const actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' as const }] };
    const { id } = await change(
      { pool: database.pool, bus },
      actor,
      createEndpoint,
      newEndpoint({
        type: 'LOAD_BALANCING',
        workers: { min: 0, max: 3 },
        scaling: { type: 'REQUEST_COUNT', value: 4, idleTimeoutSeconds: 60 },
      }),
    );
    return new BalancedEndpoint(database, bus, id);
  }

  private constructor(database: TestDatabase, bus: Bus, id: EndpointId) {
    this.database = database;
    this.bus = bus;
    this.id = id;
  }

  async close(): Promise<void> {
    await this.bus.stop();
    await this.database.drop();
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of any query
  async sql(text: string, ...values: unknown[]): Promise<any[]> {
    return (await this.database.pool.query(text, values)).rows;
  }

  /** A running worker, with `env` and ports as its release says. */
  async runningWorker(ports: { http: number; health: number }, env: Record<string, string> = {}): Promise<WorkerId> {
    const id = newId<WorkerId>();
    await insertWorkers(this.database.pool, [{ id, endpointId: this.id, reason: 'test', pause: null }]);
    await this.sql(
      `update workers set phase = 'RUNNING', started_at = now(), http_port = $2, health_port = $3,
         spec = jsonb_set(spec, '{env}', $4) where id = $1`,
      id,
      ports.http,
      ports.health,
      JSON.stringify(env),
    );
    return id;
  }

  async worker(id: WorkerId) {
    return (await this.sql('select * from workers where id = $1', id))[0];
  }
}
