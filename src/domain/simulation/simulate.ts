import { Failure, notFound } from '../../core/errors.ts';
import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { findDataCenter, gpuPools, LOCAL_DATA_CENTER } from '../catalog/catalog.ts';
import { noSuchItem } from '../catalog/no-such-item.ts';
import type { Operation, Tx } from '../change.ts';
import {
  getSimulation,
  insertIncident,
  resetSimulation,
  type Simulation,
  simulateCapacity,
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
export const simulate: Operation<Tx<Admin>, SimulateRequest, Simulation> = {
  name: 'simulation.change',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus }, request) {
    await getSimulation(db);
    bus.publish('simulation', '');
    switch (request.action) {
      case 'capacity':
        return simulateCapacity(db, readCapacity(request));
      case 'slow-pull':
        return simulateSlowPull(db, {
          seconds: need(request.seconds, 'slow-pull needs seconds'),
          image: request.image ?? null,
        });
      case 'crash':
        await crash(db, request);
        return getSimulation(db);
      case 'preempt': {
        const workloadId = need(request.workerId, 'preempt needs workerId');
        await checkExists(db, 'workers', workloadId);
        const graceSeconds = request.graceSeconds ?? DEFAULT_GRACE_SECONDS;
        await insertIncident(db, { kind: 'preempt', workloadId, graceSeconds });
        return getSimulation(db);
      }
      case 'reset':
        return resetSimulation(db);
    }
  },
  subject: ({ action }) => action,
  target: () => 'simulation',
};

function readCapacity(request: SimulateRequest) {
  const pool = need(request.pool, 'capacity needs pool');
  if (!gpuPools().includes(pool)) throw new Failure('badRequest', `pool: ${noSuchItem('GPU pool', pool)}`);
  const dataCenterId = request.dataCenterId ?? LOCAL_DATA_CENTER;
  if (dataCenterId !== LOCAL_DATA_CENTER && !findDataCenter(dataCenterId)) {
    throw new Failure('badRequest', `dataCenterId: ${noSuchItem('data center', dataCenterId)}`);
  }
  return { pool, dataCenterId, total: need(request.total, 'capacity needs total') };
}

async function crash(db: Db, { workerId, endpointId, starts, exitCode }: SimulateRequest): Promise<void> {
  if ((workerId === undefined) === (endpointId === undefined)) {
    throw new Failure('badRequest', 'crash needs either workerId or endpointId');
  }
  if (workerId !== undefined) {
    await checkExists(db, 'workers', workerId);
    await insertIncident(db, { kind: 'crash', workloadId: workerId, exitCode: exitCode ?? 1 });
  } else {
    await checkExists(db, 'endpoints', endpointId!);
    await insertIncident(db, {
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
