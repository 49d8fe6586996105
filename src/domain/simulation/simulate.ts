import { Failure, notFound } from '../../core/errors.ts';
import type { Db } from '../../db/pool.ts';
import { findDataCenter, gpuPools, LOCAL_DATA_CENTER } from '../catalog/catalog.ts';
import { noSuchItem } from '../catalog/no-such-item.ts';
import type { Context } from '../context.ts';
import {
  getSimulation,
  resetSimulation,
  type Simulation,
  simulateCapacity,
  simulateIncident,
  simulateSlowPull,
} from './simulation.ts';

/** A simulation request; the error of an action says which members it needs. */
export interface SimulateRequest {
  action: 'capacity' | 'slow-pull' | 'crash' | 'preempt' | 'reset';
  pool?: string | undefined;
  /** Default: the local data center. */
  dataCenterId?: string | undefined;
  total?: number | undefined;
  seconds?: number | undefined;
  image?: string | undefined;
  workerId?: string | undefined;
  endpointId?: string | undefined;
  starts?: number | undefined;
  exitCode?: number | undefined;
  graceSeconds?: number | undefined;
}

const DEFAULT_STARTS = 3;
const DEFAULT_GRACE_SECONDS = 5;

/** Runs a simulation request. Throws `badRequest` for missing or unknown values, `notFound` for a worker or endpoint, `conflict` with real GPUs. */
export async function simulate(context: Context, request: SimulateRequest): Promise<Simulation> {
  await getSimulation(context.pool);
  switch (request.action) {
    case 'capacity':
      return simulateCapacity(context, readCapacity(request));
    case 'slow-pull':
      return simulateSlowPull(context, {
        seconds: need(request.seconds, 'slow-pull needs seconds'),
        image: request.image ?? null,
      });
    case 'crash':
      await crash(context, request);
      return getSimulation(context.pool);
    case 'preempt': {
      const workloadId = need(request.workerId, 'preempt needs workerId');
      await checkExists(context.pool, 'workers', workloadId);
      const graceSeconds = request.graceSeconds ?? DEFAULT_GRACE_SECONDS;
      await simulateIncident(context, { kind: 'preempt', workloadId, graceSeconds });
      return getSimulation(context.pool);
    }
    case 'reset':
      return resetSimulation(context);
  }
}

function readCapacity(request: SimulateRequest) {
  const pool = need(request.pool, 'capacity needs pool');
  if (!gpuPools().includes(pool)) throw new Failure('badRequest', `pool: ${noSuchItem('GPU pool', pool)}`);
  const dataCenterId = request.dataCenterId ?? LOCAL_DATA_CENTER;
  if (dataCenterId !== LOCAL_DATA_CENTER && !findDataCenter(dataCenterId)) {
    throw new Failure('badRequest', `dataCenterId: ${noSuchItem('data center', dataCenterId)}`);
  }
  return { pool, dataCenterId, total: need(request.total, 'capacity needs total') };
}

async function crash(context: Context, { workerId, endpointId, starts, exitCode }: SimulateRequest): Promise<void> {
  if ((workerId === undefined) === (endpointId === undefined)) {
    throw new Failure('badRequest', 'crash needs either workerId or endpointId');
  }
  if (workerId !== undefined) {
    await checkExists(context.pool, 'workers', workerId);
    await simulateIncident(context, { kind: 'crash', workloadId: workerId, exitCode: exitCode ?? 1 });
  } else {
    await checkExists(context.pool, 'endpoints', endpointId!);
    await simulateIncident(context, {
      kind: 'crashStarts',
      endpointId: endpointId!,
      starts: starts ?? DEFAULT_STARTS,
    });
  }
}

async function checkExists(db: Db, table: 'workers' | 'endpoints', id: string): Promise<void> {
  const isLive = table === 'workers' ? "and phase in ('STARTING', 'RUNNING', 'FROZEN')" : '';
  const result = await db.query(`select from ${table} where id = $1 ${isLive}`, [id]);
  if (result.rowCount === 0) throw notFound(table === 'workers' ? 'Worker' : 'Endpoint');
}

function need<T>(value: T | undefined, sentence: string): T {
  if (value === undefined) throw new Failure('badRequest', sentence);
  return value;
}
