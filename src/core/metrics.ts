import { monotonicClock } from './clock.ts';
import { EndpointActivity } from './endpoint-activity.ts';
import type { EndpointId } from './ids.ts';
import { JOB_ENDS, type JobEnd } from './job-states.ts';

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

/** Counts values by the smallest bound that holds them; readers add up cumulative buckets. */
export class Histogram {
  readonly bounds: readonly number[];
  /** One more than there are bounds: the last one counts larger values. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let i = 0;
    while (i < this.bounds.length && value > this.bounds[i]!) i += 1;
    this.counts[i]! += 1;
    this.sum += value;
  }

  /** Adds the counts of a histogram with the same bounds. */
  add({ counts, sum }: Counts): void {
    for (const [i, count] of counts.entries()) this.counts[i]! += count;
    this.sum += sum;
  }

  /** Returns the counts and resets them. */
  take(): Counts {
    const taken = { counts: [...this.counts], sum: this.sum };
    this.counts.fill(0);
    this.sum = 0;
    return taken;
  }
}

/** The content of a histogram. */
export interface Counts {
  readonly counts: readonly number[];
  readonly sum: number;
}

/** The metrics of one endpoint's jobs, or of all unlabelled endpoints together. */
export interface JobFigures {
  readonly label: string;
  submitted: number;
  readonly ended: Record<JobEnd, number>;
  /** Seconds in the queue and in the worker, observed when a job ends. */
  readonly wait: Histogram;
  readonly execution: Histogram;
}

/** The metrics of one route. */
export interface RouteFigures {
  /** By status. */
  readonly answers: Map<number, number>;
  readonly duration: Histogram;
}

export type Api = 'rest' | 'graphql' | 'queue' | 'worker';
export type ProxyPlane = 'endpoint' | 'pod';
export type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx';
const CLASSES: readonly StatusClass[] = ['1xx', '2xx', '3xx', '4xx', '5xx'];

export class Metrics {
  readonly routes: Readonly<Record<Api, Map<string, RouteFigures>>> = {
    rest: new Map(),
    graphql: new Map(),
    queue: new Map(),
    worker: new Map(),
  };
  readonly proxy: Readonly<Record<ProxyPlane, Readonly<Record<StatusClass, Histogram>>>> = {
    endpoint: byClass(),
    pod: byClass(),
  };
  /** By the stage's name. */
  readonly coldStarts = new Map<string, Histogram>();
  readonly thaws = new Histogram(START_BOUNDS);
  readonly eventLoopLag = new Histogram(LAG_BOUNDS);
  /** For the history, not for a scrape. */
  readonly activity = new EndpointActivity();
  readonly #maxEndpoints: number;
  readonly #jobs = new Map<EndpointId, JobFigures>();
  readonly #others = jobFigures(OTHER_ENDPOINTS);

  /** `maxEndpoints`: how many endpoints get their own label: first come, first served, until they are deleted. */
  constructor(options: { maxEndpoints: number }) {
    this.#maxEndpoints = options.maxEndpoints;
  }

  jobsOf(endpointId: EndpointId): JobFigures {
    const known = this.#jobs.get(endpointId);
    if (known !== undefined) return known;
    if (this.#jobs.size >= this.#maxEndpoints) return this.#others;
    const figures = jobFigures(endpointId);
    this.#jobs.set(endpointId, figures);
    return figures;
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
    const figures = this.routeOf(api, route);
    figures.answers.set(status, (figures.answers.get(status) ?? 0) + 1);
    figures.duration.observe(durationMs / 1000);
  }

  routeOf(api: Api, route: string): RouteFigures {
    let figures = this.routes[api].get(route);
    if (figures === undefined) {
      figures = { answers: new Map(), duration: new Histogram(REQUEST_BOUNDS) };
      this.routes[api].set(route, figures);
    }
    return figures;
  }

  proxyEnded(plane: ProxyPlane, status: number, durationMs: number): void {
    const statusClass = CLASSES[Math.floor(status / 100) - 1] ?? '5xx';
    this.proxy[plane][statusClass].observe(durationMs / 1000);
  }

  coldStartStage(stage: string, durationMs: number): void {
    this.stageOf(stage).observe(durationMs / 1000);
  }

  stageOf(stage: string): Histogram {
    let histogram = this.coldStarts.get(stage);
    if (histogram === undefined) {
      histogram = new Histogram(START_BOUNDS);
      this.coldStarts.set(stage, histogram);
    }
    return histogram;
  }

  /** The endpoints with their own label. */
  get endpointIds(): EndpointId[] {
    return [...this.#jobs.keys()];
  }

  /** Each endpoint's figures, those of the unlabelled ones last. */
  get jobs(): JobFigures[] {
    return [...this.#jobs.values(), this.#others];
  }

  /** Frees the labels of deleted endpoints. */
  forgetEndpoints(gone: readonly EndpointId[]): void {
    for (const id of gone) this.#jobs.delete(id);
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

function jobFigures(label: string): JobFigures {
  return {
    label,
    submitted: 0,
    ended: Object.fromEntries(JOB_ENDS.map((status) => [status, 0])) as Record<JobEnd, number>,
    wait: new Histogram(JOB_BOUNDS),
    execution: new Histogram(JOB_BOUNDS),
  };
}

function byClass(): Record<StatusClass, Histogram> {
  const histogram = () => new Histogram(REQUEST_BOUNDS);
  return { '1xx': histogram(), '2xx': histogram(), '3xx': histogram(), '4xx': histogram(), '5xx': histogram() };
}
