import { monotonicClock } from './clock.ts';
import { EndpointActivity } from './endpoint-activity.ts';
import type { EndpointId } from './ids.ts';
import { JOB_ENDS, type JobEnd } from './job-states.ts';
import {
  addAll,
  Counter,
  type Counts,
  type DeltaOf,
  Family,
  Histogram,
  type Summable,
  type SummableTree,
  Tally,
  takeAll,
} from './summable.ts';

/**
 * This process's metrics, as plain numbers: counting is an addition, and text is rendered only on a scrape
 * (rest/installation/metrics-page.ts). All start at zero with the process, as Prometheus expects of counters. Labels are
 * bounded: endpoints by `maxEndpoints`, the others by the program's own names.
 */

/** Seconds; from a job handed over in memory to one that runs for an hour. */
const JOB_BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600];
const REQUEST_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120];
const START_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];
const LAG_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

const LAG_TICK_MS = 1_000;

/** The label of all endpoints beyond `maxEndpoints`. */
export const OTHER_ENDPOINTS = 'other';
/** The client disconnected before the response; no server sends this status. */
export const CLIENT_GONE = 499;

type Ends = Readonly<Record<JobEnd, number>>;
type JobCounts = { submitted: number; ended: Ends; wait: Counts; execution: Counts };

/** The metrics of one endpoint's jobs, or of all unlabelled endpoints together. */
export class JobFigures implements Summable<JobCounts> {
  readonly label: string;
  submitted = 0;
  ended: Record<JobEnd, number> = noEnds();
  /** Seconds in the queue and in the worker, observed when a job ends. */
  readonly wait = new Histogram(JOB_BOUNDS);
  readonly execution = new Histogram(JOB_BOUNDS);

  constructor(label: string) {
    this.label = label;
  }

  take(): JobCounts {
    const { submitted, ended } = this;
    this.submitted = 0;
    this.ended = noEnds();
    return { submitted, ended, wait: this.wait.take(), execution: this.execution.take() };
  }

  add({ submitted, ended, wait, execution }: JobCounts): void {
    this.submitted += submitted;
    for (const end of JOB_ENDS) this.ended[end] += ended[end];
    this.wait.add(wait);
    this.execution.add(execution);
  }
}

/** The metrics of jobs by endpoint. What is not labelled is counted, but not taken: a process that reports to another labels all. */
export class JobFamily implements Summable<[EndpointId, JobCounts][]> {
  readonly labelled = new Map<EndpointId, JobFigures>();
  readonly others = new JobFigures(OTHER_ENDPOINTS);
  readonly #maxEndpoints: number;

  /** `maxEndpoints`: how many endpoints get their own label: first come, first served, until they are deleted. */
  constructor(maxEndpoints: number) {
    this.#maxEndpoints = maxEndpoints;
  }

  of(endpointId: EndpointId): JobFigures {
    const known = this.labelled.get(endpointId);
    if (known !== undefined) return known;
    if (this.labelled.size >= this.#maxEndpoints) return this.others;
    const figures = new JobFigures(endpointId);
    this.labelled.set(endpointId, figures);
    return figures;
  }

  /** Each endpoint's figures, those of the unlabelled ones last. */
  get all(): JobFigures[] {
    return [...this.labelled.values(), this.others];
  }

  take(): [EndpointId, JobCounts][] {
    const taken = [...this.labelled].map(([id, figures]): [EndpointId, JobCounts] => [id, figures.take()]);
    this.labelled.clear();
    return taken;
  }

  add(delta: [EndpointId, JobCounts][]): void {
    for (const [id, counts] of delta) this.of(id).add(counts);
  }
}

type RouteCounts = { answers: [status: number, count: number][]; duration: Counts };

/** The metrics of one route. */
export class RouteFigures implements Summable<RouteCounts> {
  /** By status. */
  readonly answers = new Tally<number>();
  readonly duration = new Histogram(REQUEST_BOUNDS);

  take(): RouteCounts {
    return { answers: this.answers.take(), duration: this.duration.take() };
  }

  add({ answers, duration }: RouteCounts): void {
    this.answers.add(answers);
    this.duration.add(duration);
  }
}

export type Api = 'rest' | 'graphql' | 'queue' | 'worker';
export type ProxyPlane = 'endpoint' | 'pod';
export type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx';
const CLASSES: readonly StatusClass[] = ['1xx', '2xx', '3xx', '4xx', '5xx'];

export class Metrics {
  readonly routes: Readonly<Record<Api, Family<string, RouteCounts, RouteFigures>>> = {
    rest: byRoute(),
    graphql: byRoute(),
    queue: byRoute(),
    worker: byRoute(),
  };
  readonly proxy: Readonly<Record<ProxyPlane, Readonly<Record<StatusClass, Histogram>>>> = {
    endpoint: byClass(),
    pod: byClass(),
  };
  /** By the stage's name. */
  readonly coldStarts = new Family<string, Counts, Histogram>(() => new Histogram(START_BOUNDS));
  readonly thaws = new Histogram(START_BOUNDS);
  readonly eventLoopLag = new Histogram(LAG_BOUNDS);
  /** Writes that took the slower way (dataplane/wire/stream-binding.ts). */
  readonly fallbackWrites = new Counter();
  /** Messages about what needs people, by how sending them went. */
  readonly notices = new Tally<'sent' | 'failed'>();
  readonly models = { fetchedBytes: new Counter(), evicted: new Counter() };
  /** The pull-through hub. A hit had its content here. */
  readonly hub = {
    fetchedBytes: new Counter(),
    servedBytes: new Counter(),
    hits: new Counter(),
    misses: new Counter(),
    evicted: new Counter(),
  };
  readonly jobs: JobFamily;
  /** For the history, not for a scrape: each process stores its own. */
  readonly activity = new EndpointActivity();

  constructor({ maxEndpoints }: { maxEndpoints: number }) {
    this.jobs = new JobFamily(maxEndpoints);
  }

  jobsOf(endpointId: EndpointId): JobFigures {
    return this.jobs.of(endpointId);
  }

  jobEnded(endpointId: EndpointId, status: JobEnd, delayMs: number | null, executionMs: number | null): void {
    const figures = this.jobsOf(endpointId);
    figures.ended[status] += 1;
    if (delayMs !== null) figures.wait.observe(delayMs / 1000);
    if (executionMs !== null) figures.execution.observe(executionMs / 1000);
    this.activity.jobEnded(endpointId, delayMs, executionMs);
  }

  /** `route`: the program's name for it, never the client's path. */
  requestEnded(api: Api, route: string, status: number, durationMs: number): void {
    const figures = this.routes[api].of(route);
    figures.answers.count(status);
    figures.duration.observe(durationMs / 1000);
  }

  proxyEnded(plane: ProxyPlane, status: number, durationMs: number): void {
    const statusClass = CLASSES[Math.floor(status / 100) - 1] ?? '5xx';
    this.proxy[plane][statusClass].observe(durationMs / 1000);
  }

  coldStartStage(stage: string, durationMs: number): void {
    this.coldStarts.of(stage).observe(durationMs / 1000);
  }

  /** Measures how late timers fire. Returns the function that stops it; it does not keep the process alive. */
  watchEventLoop(): () => void {
    let expected = monotonicClock.now() + LAG_TICK_MS;
    const timer = setInterval(() => {
      const now = monotonicClock.now();
      this.eventLoopLag.observe(Math.max(0, now - expected) / 1000);
      expected = now + LAG_TICK_MS;
    }, LAG_TICK_MS).unref();
    return () => clearInterval(timer);
  }
}

type FieldOf<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? never : K }[keyof T];

/** Every metric. One that is missing here, or that several processes cannot add up, does not compile. */
function allOf(metrics: Metrics) {
  const { routes, proxy, coldStarts, thaws, eventLoopLag, fallbackWrites, notices, models, hub, jobs } = metrics;
  const all = { routes, proxy, coldStarts, thaws, eventLoopLag, fallbackWrites, notices, models, hub, jobs };
  return all satisfies Record<Exclude<FieldOf<Metrics>, 'activity'>, SummableTree>;
}

/** The counts of a process since its last report: plain values for another process to add up. */
export type MetricsDelta = DeltaOf<ReturnType<typeof allOf>>;

/**
 * Returns what these metrics counted and resets them, so that nothing is counted twice. They must label every endpoint; the
 * receiver decides which keep their label.
 */
export function takeDelta(metrics: Metrics): MetricsDelta {
  return takeAll(allOf(metrics));
}

export function addDelta(metrics: Metrics, delta: MetricsDelta): void {
  addAll(allOf(metrics), delta);
}

function noEnds(): Record<JobEnd, number> {
  return Object.fromEntries(JOB_ENDS.map((end) => [end, 0])) as Record<JobEnd, number>;
}

function byRoute(): Family<string, RouteCounts, RouteFigures> {
  return new Family(() => new RouteFigures());
}

function byClass(): Record<StatusClass, Histogram> {
  const histogram = () => new Histogram(REQUEST_BOUNDS);
  return { '1xx': histogram(), '2xx': histogram(), '3xx': histogram(), '4xx': histogram(), '5xx': histogram() };
}
