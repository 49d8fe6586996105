/**
 * Simulated shortage: on a server with simulated GPUs, people can test how their clients cope with throttling, preemption
 * and slow starts. Lasting settings are a row of `settings`, changed by `podyard simulate` or over REST and read by every
 * process; single incidents wait in `simulated_incidents` for the leader.
 */
import { Failure } from '../../core/errors.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Context } from '../context.ts';

/** Simulated GPUs of a pool in a data center. */
export interface SimulatedGpus {
  pool: string;
  dataCenterId: string;
  total: number;
}

export interface Simulation {
  /** The current GPUs; initially those the server was started with. */
  gpus: SimulatedGpus[];
  /** Every start pulls its image again, which takes this long; `image` null: any image. */
  slowPull: { seconds: number; image: string | null } | null;
}

/** A single event for a worker or pod, or for the next starts of an endpoint. */
export type Incident =
  | { kind: 'crash'; workloadId: string; exitCode: number }
  | { kind: 'crashStarts'; endpointId: string; starts: number }
  | { kind: 'preempt'; workloadId: string; graceSeconds: number };

const KEY = 'simulation';

/** Call it at every start. A changed set of GPUs resets the simulation, null (real GPUs) deletes it, else it continues. */
export async function ensureSimulation(db: Db, configured: readonly SimulatedGpus[] | null): Promise<void> {
  if (configured === null) {
    await db.query('delete from settings where key = $1', [KEY]);
    return;
  }
  const value = { configured, gpus: configured, slowPull: null };
  await db.query(
    `insert into settings as s (key, value) values ($1, $2)
     on conflict (key) do update set value = excluded.value where s.value -> 'configured' <> excluded.value -> 'configured'`,
    [KEY, JSON.stringify(value)],
  );
}

/** Undefined if GPUs are real. */
export async function findSimulation(db: Db): Promise<Simulation | undefined> {
  const result = await db.query<{ value: Simulation }>('select value from settings where key = $1', [KEY]);
  const value = result.rows[0]?.value;
  return value && { gpus: value.gpus, slowPull: value.slowPull };
}

/** Throws `conflict` if GPUs are real. */
export async function getSimulation(db: Db): Promise<Simulation> {
  const simulation = await findSimulation(db);
  if (!simulation) throw new Failure('conflict', 'this server has real GPUs: only simulated ones can be changed');
  return simulation;
}

/** Sets how many GPUs a pool has in a data center; running workloads keep theirs. */
export async function simulateCapacity(context: Context, change: SimulatedGpus): Promise<Simulation> {
  return changeSimulation(context, (simulation) => {
    const isSame = (one: SimulatedGpus) => one.pool === change.pool && one.dataCenterId === change.dataCenterId;
    const others = simulation.gpus.filter((one) => !isSame(one));
    const at = simulation.gpus.findIndex(isSame);
    const gpus = at < 0 ? [...others, change] : simulation.gpus.with(at, change);
    return { ...simulation, gpus };
  });
}

/** Makes each start wait for its image; 0 seconds ends that. */
export async function simulateSlowPull(
  context: Context,
  slowPull: { seconds: number; image: string | null },
): Promise<Simulation> {
  return changeSimulation(context, (simulation) => ({
    ...simulation,
    slowPull: slowPull.seconds > 0 ? slowPull : null,
  }));
}

/** Resets the simulation to the server's configuration. Past incidents are not undone. */
export async function resetSimulation({ pool, bus }: Context): Promise<Simulation> {
  await getSimulation(pool);
  await pool.query(
    `update settings set value = value || jsonb_build_object('gpus', value -> 'configured', 'slowPull', null) where key = $1`,
    [KEY],
  );
  bus.publish('simulation', '');
  return getSimulation(pool);
}

/** Queues an incident, which the leader carries out within moments. Throws `conflict` if GPUs are real. */
export async function simulateIncident({ pool, bus }: Context, incident: Incident): Promise<void> {
  await getSimulation(pool);
  await pool.query('insert into simulated_incidents (incident) values ($1)', [JSON.stringify(incident)]);
  bus.publish('simulation', '');
}

/** Removes and returns the pending incidents, for the caller to carry out. Those older than a minute are dropped. */
export async function takeIncidents(db: Db): Promise<Incident[]> {
  const result = await db.query<{ incident: Incident; isFresh: boolean }>(
    `delete from simulated_incidents returning incident, created_at > now() - interval '1 minute' as "isFresh"`,
  );
  return result.rows.filter(({ isFresh }) => isFresh).map(({ incident }) => incident);
}

async function changeSimulation(
  { pool, bus }: Context,
  change: (simulation: Simulation) => Simulation,
): Promise<Simulation> {
  const changed = await transaction(pool, async (db) => {
    await db.query('select from settings where key = $1 for update', [KEY]);
    const next = change(await getSimulation(db));
    await db.query('update settings set value = value || $2::jsonb where key = $1', [KEY, JSON.stringify(next)]);
    return next;
  });
  bus.publish('simulation', '');
  return changed;
}
