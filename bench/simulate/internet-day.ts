import type { PlaceRequest, PoolCapacity } from '../../src/scaling/place-worker.ts';
import type { ScalingEndpoint, ScalingWorker } from '../../src/scaling/situation.ts';
import type { Job, TenantResult } from './endpoint.ts';

const HOUR = 3_600_000;
const SECOND = 1_000;
const POOLS = ['ADA_24', 'AMPERE_48', 'AMPERE_80'];
const DATA_CENTERS = ['SIM-1', 'SIM-2', 'SIM-3', 'SIM-4'];
const GPUS_PER_ENDPOINT = 0.0025;
const ENDPOINTS_PER_USER = 10;

/** Endpoints by rank: results are reported for each group. */
const GROUPS: readonly { name: string; upTo: number; settings: Partial<ScalingEndpoint> }[] = [
  { name: 'busiest 0.1 %', upTo: 0.001, settings: { max: 100, idleTimeoutMs: 30 * SECOND } },
  { name: 'next 10 %', upTo: 0.1, settings: { max: 10 } },
  { name: 'rest', upTo: 1, settings: { scaler: { type: 'QUEUE_DELAY', value: 4 } } },
];
const SETTINGS: ScalingEndpoint = {
  min: 0,
  max: 3,
  scaler: { type: 'REQUEST_COUNT', value: 1 },
  idleTimeoutMs: 5 * SECOND,
  version: 1,
  flashboot: 'OFF',
  isRolloutPaused: false,
};

export interface InternetDay {
  name: string;
  about: string;
  durationMs: number;
  endpoints: number;
}

/** The groups that results are reported for, by rank. */
export const GROUP_NAMES = GROUPS.map(({ name }) => name);

export function internetDay(endpoints = 1_000_000, hours = 24): InternetDay {
  const about = `A day of ${endpoints.toLocaleString('en')} endpoints: few get most jobs, most get fewer than one.`;
  return { name: 'internet', about, durationMs: hours * HOUR, endpoints };
}

/** An endpoint that has work or workers. */
export interface Active {
  index: number;
  id: string;
  userId: string;
  settings: ScalingEndpoint;
  request: PlaceRequest;
  result: TenantResult;
  queue: Job[];
  workers: Set<Worker>;
  failures: { count: number; lastAt: number };
  decidedAt: number;
  decidesAt: number;
}

export interface Worker extends ScalingWorker {
  endpoint: Active;
  notBefore: number;
  place: PoolCapacity | null;
  startedAt: number;
  readyAt: number | null;
  yieldsTo: string | null;
  job: Job | null;
}

export function capacitiesOf({ endpoints }: InternetDay): PoolCapacity[] {
  const total = Math.max(4, Math.ceil((endpoints * GPUS_PER_ENDPOINT) / POOLS.length / DATA_CENTERS.length));
  return POOLS.flatMap((pool) =>
    DATA_CENTERS.map((dataCenterId) => ({ pool, gpuTypeId: pool, dataCenterId, total, free: total })),
  );
}

/** Returns an endpoint whose first job comes; `results` are those of the groups. */
export function activeEndpoint({ endpoints }: InternetDay, index: number, results: readonly TenantResult[]): Active {
  const group = GROUPS.findIndex(({ upTo }) => index < Math.ceil(upTo * endpoints));
  return {
    index,
    id: `e${index}`,
    userId: `u${index % Math.ceil(endpoints / ENDPOINTS_PER_USER)}`,
    settings: { ...SETTINGS, ...GROUPS[group]!.settings },
    request: { pools: [POOLS[index % POOLS.length]!], count: index % 50 === 49 ? 2 : 1, dataCenterIds: [] },
    result: results[group]!,
    queue: [],
    workers: new Set(),
    failures: { count: 0, lastAt: 0 },
    decidedAt: Number.NEGATIVE_INFINITY,
    decidesAt: Number.POSITIVE_INFINITY,
  };
}
