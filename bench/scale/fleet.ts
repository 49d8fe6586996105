import pg from 'pg';
import { newId } from '../../src/core/ids.ts';
import { addToCounters } from '../../src/domain/jobs/count-jobs.ts';

/** Workers of each endpoint that keeps some. */
export const WORKERS_PER_KEEPER = 4;

/** How many endpoints there are, and how many of them work; the others are at zero and get no jobs. */
export interface FleetSize {
  endpoints: number;
  working: number;
}

/**
 * Endpoints, jobs and workers' reports, written straight to the database as the API and the data plane would, with their hints,
 * so that control alone is measured. Half of the working endpoints (`keepers`) keep workers, half (`sleepers`) are at zero.
 */
export class Fleet {
  readonly keepers: string[];
  readonly sleepers: string[];
  readonly #pool: pg.Pool;
  readonly #unsynced: pg.Pool;

  /** Creates the endpoints, which will get twice as many workers as endpoints work. */
  static async create(databaseUrl: string, { endpoints, working }: FleetSize): Promise<Fleet> {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    const ids = Array.from({ length: endpoints }, () => newId<string>());
    const half = Math.ceil(working / 2);
    await pool.query("insert into users (id, name) values ('fleet', 'fleet') on conflict do nothing");
    await pool.query(
      "insert into user_limits (user_id, name, value) values ('fleet', 'workers', null) on conflict do nothing",
    );
    await pool.query(
      `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, gpu_pools, gpu_count, workers_min,
         workers_max, scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
       select id, 'fleet', 'e' || n, 'QUEUE_BASED', 'any:1', '', 20, '{}', '{}', '{ADA_24}', 1,
              case when n <= $2 then $3 else 0 end, 5, 'REQUEST_COUNT', 1, 1, '{}', '{}', 300000, 'OFF', 1
       from unnest($1::text[]) with ordinality as e(id, n)`,
      [ids, half, WORKERS_PER_KEEPER],
    );
    await pool.query(
      `insert into releases (id, endpoint_id, version, spec, diff)
       select 'r' || id, id, 1, jsonb_build_object('image', image, 'args', '', 'diskGb', 20, 'ports', '[]'::jsonb,
         'env', '{}'::jsonb, 'registryId', null, 'gpu', jsonb_build_object('pools', gpu_pools, 'count', 1), 'cpu', null,
         'networkVolumeIds', '[]'::jsonb), '[]' from endpoints`,
    );
    await pool.query('create unlogged table fleet_submits (endpoint_id text, at timestamptz)');
    await pool.query('analyze');
    const fleet = new Fleet(pool, ids.slice(0, half), ids.slice(half, working));
    await fleet.#hint('endpoint', ids);
    return fleet;
  }

  private constructor(pool: pg.Pool, keepers: string[], sleepers: string[]) {
    this.#pool = pool;
    this.#unsynced = new pg.Pool({ ...pool.options, options: '-c synchronous_commit=off', max: 1 });
    this.keepers = keepers;
    this.sleepers = sleepers;
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#unsynced.end()]);
  }

  /** Updates planner statistics, as autovacuum does after a while. */
  async analyze(): Promise<void> {
    await this.#pool.query('analyze');
  }

  async countWorking(): Promise<number> {
    const { rows } = await this.#pool.query(
      "select count(*)::int as count from workers where phase = 'RUNNING' and ready_at is not null",
    );
    return rows[0].count;
  }

  /** Marks running workers, of all endpoints or of these, as ready and active, as they would report. Returns how many. */
  async makeReady(endpointIds: readonly string[] | null = null): Promise<number> {
    const { rows } = await this.#pool.query<{ id: string }>(
      `with chosen as (
         select id from workers where phase = 'RUNNING' and ready_at is null and wanted = 'RUN'
           ${endpointIds === null ? '' : 'and endpoint_id = any($1::text[])'} order by id for update),
       ready as (
         update workers w set ready_at = now() from chosen where w.id = chosen.id returning w.id),
       active as (
         insert into worker_activity (worker_id, seen_at) select id, now() + interval '1 day' from ready
         on conflict do nothing)
       select id from ready`,
      endpointIds === null ? [] : [endpointIds],
    );
    await this.#hint(
      'worker',
      rows.map(({ id }) => id),
    );
    return rows.length;
  }

  /** Submits a job to each of these endpoints. */
  async submit(endpointIds: readonly string[]): Promise<void> {
    await this.#pool.query(
      `with job as (
         insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
         select 'j' || id, id, 'IN_QUEUE', false, false, '{}', now() + interval '1 day', false from unnest($1::text[]) id
         returning endpoint_id)
       ${addToCounters({ from: 'job', lane: "'fleet'", deltas: { queued: 'count(*)' } })}`,
      [endpointIds],
    );
    // After the commit of the jobs, and without one that waits for the disk before the hint.
    await this.#unsynced.query('insert into fleet_submits select id, clock_timestamp() from unnest($1::text[]) id', [
      endpointIds,
    ]);
    await this.#hint('demand', endpointIds);
  }

  /** Finishes the jobs that a ready worker could have taken. Returns their endpoints. */
  async finish(endpointIds: readonly string[]): Promise<string[]> {
    const { rows } = await this.#pool.query<{ endpoint_id: string }>(
      `with done as (
         delete from jobs j where j.id in (select 'j' || id from unnest($1::text[]) id)
           and exists (select from workers w where w.endpoint_id = j.endpoint_id and w.phase = 'RUNNING'
                         and w.ready_at is not null and w.wanted = 'RUN')
         returning endpoint_id),
       counted as (
         update endpoint_counters k set queued = queued - 1 from done where k.endpoint_id = done.endpoint_id),
       worked as (
         update worker_activity a set last_work_at = now() from done join workers w on w.endpoint_id = done.endpoint_id
         where a.worker_id = w.id)
       select endpoint_id from done`,
      [endpointIds],
    );
    const ids = rows.map(({ endpoint_id }) => endpoint_id);
    await this.#hint('demand', ids);
    return ids;
  }

  /** Returns, for jobs since `since` on endpoints without workers, the time from the hint to the worker's start in ms. */
  async reactions(since: Date): Promise<number[]> {
    const { rows } = await this.#pool.query<{ ms: number }>(
      `select extract(epoch from (w.timeline ->> 'capacityAt')::timestamptz - s.at)::float8 * 1000 as ms
       from fleet_submits s join lateral (
         select timeline from workers w where w.endpoint_id = s.endpoint_id and w.created_at >= s.at
         order by created_at limit 1) w on true
       where s.at >= $1 and s.endpoint_id = any($2) and w.timeline ? 'capacityAt'`,
      [since, this.sleepers],
    );
    return rows.map(({ ms }) => ms);
  }

  /** Workers started and ended since then. */
  async turnover(since: Date): Promise<{ started: number; ended: number }> {
    const { rows } = await this.#pool.query(
      `select count(*) filter (where started_at >= $1)::int as started, count(*) filter (where exited_at >= $1)::int as ended
       from workers`,
      [since],
    );
    return rows[0];
  }

  async #hint(topic: string, payloads: readonly string[]): Promise<void> {
    const messages = payloads.map((payload) => JSON.stringify(['fleet', topic, payload]));
    await this.#pool.query("select pg_notify('podyard', m) from unnest($1::text[]) m", [messages]);
  }
}
