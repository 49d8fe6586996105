import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type FigureSeries, type PastFigures, readFigureSeries, readPastFigures } from '../history/read-history.ts';
import { listEndpointWork } from './account-activity.ts';
import type { EndpointState } from './endpoint-state.ts';
import { listEndpointStates } from './list-endpoint-states.ts';

/** The figures of an endpoint in a list, beside its settings. */
export interface EndpointFigures extends EndpointState, PastFigures {
  id: EndpointId;
  /** Live workers. */
  workers: number;
  /** Jobs or load-balanced requests that wait, and that are being processed. */
  waiting: number;
  running: number;
  /** Series of the last hour; null when nothing ended in it. Undefined in a list of all endpoints. */
  series?: FigureSeries | null;
}

const NO_WORK = { inQueue: 0, inProgress: 0, workers: { total: 0 } };
const NO_PAST: PastFigures = { requests: 0, failed: 0, latencyP95Ms: null, costToday: 0 };

/** Returns the figures of those of these endpoints that are the user's, with their series. */
export async function getEndpointFigures(
  db: Db,
  userId: UserId,
  wanted: readonly EndpointId[],
  now: number,
): Promise<EndpointFigures[]> {
  const owned = await db.query<{ id: EndpointId }>({
    name: 'endpoints-owned',
    text: 'select id from endpoints where user_id = $1 and id = any($2::text[])',
    values: [userId, wanted],
  });
  const ids = owned.rows.map(({ id }) => id);
  const [figures, series] = await Promise.all([combine(db, userId, ids, now), readFigureSeries(db, ids, now)]);
  return figures.map((one) => ({ ...one, series: series.get(one.id) ?? null }));
}

/** Returns the figures of the user's endpoints, except those that are scaled to zero without a warning and did nothing within the hour and today. */
export async function listEndpointFigures(db: Db, userId: UserId, now: number): Promise<EndpointFigures[]> {
  const all = await db.query<{ id: EndpointId }>({
    name: 'endpoints-of-user',
    text: 'select id from endpoints where user_id = $1',
    values: [userId],
  });
  const figures = await combine(
    db,
    userId,
    all.rows.map(({ id }) => id),
    now,
  );
  return figures.filter(
    ({ state, warnings, workers, waiting, running, requests, costToday }) =>
      state !== 'SCALED_TO_ZERO' || warnings.length + workers + waiting + running + requests + costToday > 0,
  );
}

async function combine(db: Db, userId: UserId, ids: readonly EndpointId[], now: number): Promise<EndpointFigures[]> {
  const [states, work, past] = await Promise.all([
    listEndpointStates(db, { ids }, now),
    listEndpointWork(db, userId),
    readPastFigures(db, ids, now),
  ]);
  const workOf = new Map(work.map((one) => [one.id, one]));
  return [...states].map(([id, state]) => {
    const { inQueue, inProgress, workers } = workOf.get(id) ?? NO_WORK;
    const figures = past.get(id) ?? NO_PAST;
    return { id, ...state, workers: workers.total, waiting: inQueue, running: inProgress, ...figures };
  });
}
