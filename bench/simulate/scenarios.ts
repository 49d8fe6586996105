import type { PlaceRequest, PoolCapacity } from '../../src/scaling/place-worker.ts';
import type { ScalingEndpoint } from '../../src/scaling/situation.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const GIB = 2 ** 30;

/** An endpoint and its traffic. Times are milliseconds since the start of the scenario. */
export interface Tenant {
  name: string;
  userId: string;
  settings: ScalingEndpoint;
  request: PlaceRequest | null;
  /** The arrival rate at a time. */
  jobsPerSecond: (at: number) => number;
  /** How long a job takes; `random` is in [0, 1). */
  jobMs: (random: number) => number;
  coldStartMs: number;
  /** For a worker that sleeps, with the time to wake. */
  thawMs: number;
  /** How long it takes to give its GPU memory back; null: it cannot sleep. */
  sleepMs: number | null;
  memoryBytes: number;
  /** True when a start at that time fails before the worker is ready: then after `failMs`, or at once without its image. */
  isBroken: (at: number) => boolean;
  failMs: number | 'no image' | null;
  /** When releases are made. */
  releasesAt: number[];
}

export interface Scenario {
  name: string;
  /** The point that it shows, in one sentence. */
  about: string;
  durationMs: number;
  tenants: Tenant[];
  /** All GPUs at a time. */
  capacities: (at: number) => PoolCapacity[];
  frozenBudgetBytes: number;
  /** GPUs that users are sure to get. */
  quotas?: Readonly<Record<string, number>>;
}

function settings(change: Partial<ScalingEndpoint> = {}): ScalingEndpoint {
  return {
    min: 0,
    max: 20,
    scaler: { type: 'QUEUE_DELAY', value: 4 },
    idleTimeoutMs: 5 * SECOND,
    version: 1,
    flashboot: 'OFF',
    isRolloutPaused: false,
    ...change,
  };
}

function tenant(change: Partial<Tenant>): Tenant {
  return {
    name: 'endpoint',
    userId: change.name ?? 'endpoint',
    settings: settings(),
    request: { pools: ['ADA_24'], count: 1, dataCenterIds: [] },
    jobsPerSecond: () => 1,
    jobMs: (random) => 2 * SECOND + random * 4 * SECOND,
    coldStartMs: 20 * SECOND,
    thawMs: 40,
    sleepMs: null,
    memoryBytes: 8 * GIB,
    isBroken: () => false,
    failMs: null,
    releasesAt: [],
    ...change,
  };
}

const gpus = (total: number): PoolCapacity => ({
  pool: 'ADA_24',
  gpuTypeId: 'NVIDIA GeForce RTX 4090',
  dataCenterId: 'SIM-1',
  total,
  free: total,
});

/** The scenarios by name. Each lasts a day unless `hours` is given. */
export const SCENARIOS: Readonly<Record<string, (hours?: number) => Scenario>> = {
  steady: (hours = 24) => ({
    name: 'steady',
    about: 'One job a second all the time, and a new release every six hours.',
    durationMs: hours * HOUR,
    tenants: [tenant({ releasesAt: [0.25, 0.5, 0.75].map((share) => share * hours * HOUR) })],
    capacities: () => [gpus(24)],
    frozenBudgetBytes: 0,
  }),
  diurnal: (hours = 24) => ({
    name: 'diurnal',
    about: 'Nothing at night, three jobs a second at noon; idle workers are frozen.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        settings: settings({ flashboot: 'FLASHBOOT', max: 40, scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: (at) => 3 * Math.max(0, -Math.cos((2 * Math.PI * at) / (hours * HOUR))),
      }),
    ],
    capacities: () => [gpus(48)],
    frozenBudgetBytes: 16 * 8 * GIB,
  }),
  burst: (hours = 24) => ({
    name: 'burst',
    about: 'Twenty jobs at once every half hour and nothing in between: from zero to twenty workers and back.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        settings: settings({ scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: (at) => (at % (30 * MINUTE) < SECOND ? 20 : 0),
      }),
    ],
    capacities: () => [gpus(24)],
    frozenBudgetBytes: 0,
  }),
  herd: (hours = 24) => ({
    name: 'herd',
    about: 'Two thousand jobs within ten seconds, every six hours, on an endpoint with at most ten workers.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        settings: settings({ max: 10 }),
        jobsPerSecond: (at) => (at % (6 * HOUR) < 10 * SECOND ? 200 : 0),
        jobMs: (random) => 500 + random * SECOND,
      }),
    ],
    capacities: () => [gpus(24)],
    frozenBudgetBytes: 0,
  }),
  'long-jobs': (hours = 24) => ({
    name: 'long-jobs',
    about: 'Jobs of twenty to forty minutes, with new releases in between: none is interrupted.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        jobsPerSecond: () => 1 / 240,
        jobMs: (random) => (20 + 20 * random) * MINUTE,
        coldStartMs: 2 * MINUTE,
        releasesAt: [hours * HOUR * 0.4, hours * HOUR * 0.6],
      }),
    ],
    capacities: () => [gpus(24)],
    frozenBudgetBytes: 0,
  }),
  'crash-loop': (hours = 24) => ({
    name: 'crash-loop',
    about: 'A release that never becomes ready, next to a healthy endpoint, until a new release fixes it.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        name: 'broken',
        jobsPerSecond: () => 0.2,
        isBroken: (at) => at > (hours * HOUR) / 3 && at < (hours * HOUR) / 2,
        releasesAt: [(hours * HOUR) / 3, (hours * HOUR) / 2],
        coldStartMs: 3 * SECOND,
      }),
      tenant({ name: 'healthy', jobsPerSecond: () => 0.5 }),
    ],
    capacities: () => [gpus(24)],
    frozenBudgetBytes: 0,
  }),
  'capacity-loss': (hours = 24) => ({
    name: 'capacity-loss',
    about: 'Sixteen GPUs, twelve of which disappear for a sixth of the time, with everything on them.',
    durationMs: hours * HOUR,
    tenants: [tenant({ jobsPerSecond: () => 1.5 })],
    capacities: (at) => [gpus(at > (hours * HOUR) / 3 && at < (hours * HOUR) / 2 ? 4 : 16)],
    frozenBudgetBytes: 0,
  }),
  'two-tenants': (hours = 24) => ({
    name: 'two-tenants',
    about: 'One endpoint always wants all eight GPUs; another comes and goes, and gets its share.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        name: 'greedy',
        settings: settings({ scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: () => 3,
      }),
      tenant({
        name: 'modest',
        settings: settings({ scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: (at) => (Math.floor(at / (HOUR / 4)) % 2 === 1 ? 0.5 : 0),
      }),
    ],
    capacities: () => [gpus(8)],
    frozenBudgetBytes: 0,
  }),
  full: (hours = 24) => ({
    name: 'full',
    about: 'Eight GPUs that two busy endpoints hold all the time, and a new release of one of them every hour.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        name: 'released',
        settings: settings({ min: 4, max: 20, scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: () => 3,
        releasesAt: Array.from({ length: Math.floor(hours * 2) }, (_, i) => (i + 0.5) * HOUR).filter(
          (at) => at < hours * HOUR - 10 * MINUTE,
        ),
      }),
      tenant({
        name: 'steady',
        settings: settings({ min: 4, max: 20, scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: () => 3,
      }),
    ],
    capacities: () => [gpus(8)],
    frozenBudgetBytes: 0,
  }),
  'broken-neighbour': (hours = 24) => ({
    name: 'broken-neighbour',
    about: 'A busy endpoint on six GPUs, beside one whose image does not exist and one that crashes within a second.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        name: 'busy',
        settings: settings({ scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: () => 3,
      }),
      ...(['no image', SECOND] as const).map((failMs) =>
        tenant({
          name: failMs === 'no image' ? 'bad-image' : 'crash-loop',
          settings: settings({ scaler: { type: 'REQUEST_COUNT', value: 1 } }),
          jobsPerSecond: (at) => (at < SECOND ? 2 : 0),
          isBroken: () => true,
          failMs,
        }),
      ),
    ],
    capacities: () => [gpus(6)],
    frozenBudgetBytes: 0,
  }),
  borrow: (hours = 24) => ({
    name: 'borrow',
    about:
      'Two users with a quota of four of eight GPUs each; one wants all of them, the other is away every other half hour.',
    durationMs: hours * HOUR,
    tenants: [
      tenant({
        name: 'borrower',
        settings: settings({ scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: () => 3,
      }),
      tenant({
        name: 'owner',
        settings: settings({ scaler: { type: 'REQUEST_COUNT', value: 1 } }),
        jobsPerSecond: (at) => (Math.floor(at / (30 * MINUTE)) % 2 === 1 ? 2 : 0),
      }),
    ],
    capacities: () => [gpus(8)],
    frozenBudgetBytes: 0,
    quotas: { borrower: 4, owner: 4 },
  }),
  'forty-on-four': (hours = 24) => fortyOnFour(hours, true),
  'forty-cold': (hours = 24) => fortyOnFour(hours, false),
};

/** A job every two minutes for each of forty endpoints, on average, in bursts: a GPU is busy for a third of the time. */
function fortyOnFour(hours: number, canSleep: boolean): Scenario {
  return {
    name: canSleep ? 'forty-on-four' : 'forty-cold',
    about: canSleep
      ? 'Forty endpoints on four GPUs, whose idle workers sleep and give their GPUs to others.'
      : 'The same traffic as forty-on-four, with workers that stop when they are idle.',
    durationMs: hours * HOUR,
    tenants: Array.from({ length: 40 }, (_, i) =>
      tenant({
        name: `model-${i + 1}`,
        settings: settings({ max: 1, flashboot: canSleep ? 'FLASHBOOT' : 'OFF' }),
        jobsPerSecond: (at) => (Math.floor(at / (5 * MINUTE) + i * 7) % 10 < 2 ? 1 / 24 : 0),
        thawMs: canSleep ? 2 * SECOND : 40,
        sleepMs: canSleep ? SECOND : null,
      }),
    ),
    capacities: () => [gpus(4)],
    frozenBudgetBytes: 512 * GIB,
  };
}
