import type { EndpointId } from './ids.ts';

/**
 * What this process counts, in plain numbers: whoever does the work adds one and goes on, and texts are made when somebody
 * asks for them (rest/installation/metrics-page.ts). All of it starts at zero with the process, as Prometheus expects of counters.
 * Everything that becomes a label is bounded: endpoints by `maxEndpoints`, the rest by what the program itself names.
 */

/** Seconds; from a hand-over in memory to a job that runs for an hour. */
const JOB_BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600];
const REQUEST_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120];
const START_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];
const LAG_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

const LAG_TICK_MS = 100;

/** Of more endpoints than have a name of their own. */
const OTHER_ENDPOINTS = 'other';
/** The client went away before it was answered; no server sends this status. */
export const CLIENT_GONE = 499;

/** Counts values up to each bound. What belongs to a bucket is added up when it is read. */
export class Histogram {
  readonly bounds: readonly number[];
  /** One more than there are bounds: the last one is for what is beyond. */
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

  /** Of another one with the same bounds. */
  add({ counts, sum }: Counts): void {
    for (const [i, count] of counts.entries()) this.counts[i]! += count;
    this.sum += sum;
  }

  /** What it counted since the last time, which it forgets. */
  take(): Counts {
    const taken = { counts: [...this.counts], sum: this.sum };
    this.counts.fill(0);
    this.sum = 0;
    return taken;
  }
}

/** What a histogram counted. */
export interface Counts {
  readonly counts: readonly number[];
  readonly sum: number;
}

/** How a job can end. */
export type JobEnd = 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';

/** Of the jobs of one endpoint, or of all others together. */
export interface JobFigures {
  readonly label: string;
  submitted: number;
  readonly ended: Record<JobEnd, number>;
  /** Seconds in the queue, and in the worker's hands: counted when a job ends. */
  readonly wait: Histogram;
  readonly execution: Histogram;
}

/** Of one route. */
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
  readonly #maxEndpoints: number;
  readonly #jobs = new Map<EndpointId, JobFigures>();
  readonly #others = jobFigures(OTHER_ENDPOINTS);

  /** `maxEndpoints`: how many endpoints get a name of their own: those that come first, until they are deleted. */
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
  }

  /** `route`: as the program calls it, never what a client wrote. */
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

  /** Those with a name of their own. */
  get endpointIds(): EndpointId[] {
    return [...this.#jobs.keys()];
  }

  /** Every set of figures once, the others' last. */
  get jobs(): JobFigures[] {
    return [...this.#jobs.values(), this.#others];
  }

  /** Endpoints that are gone give their names to others. */
  forgetEndpoints(gone: readonly EndpointId[]): void {
    for (const id of gone) this.#jobs.delete(id);
  }

  /** Notes how late timers come. Answers what ends it; it keeps no process alive. */
  watchEventLoop(): () => void {
    let expected = performance.now() + LAG_TICK_MS;
    const timer = setInterval(() => {
      const now = performance.now();
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
    ended: { COMPLETED: 0, FAILED: 0, CANCELLED: 0, TIMED_OUT: 0 },
    wait: new Histogram(JOB_BOUNDS),
    execution: new Histogram(JOB_BOUNDS),
  };
}

function byClass(): Record<StatusClass, Histogram> {
  const histogram = () => new Histogram(REQUEST_BOUNDS);
  return { '1xx': histogram(), '2xx': histogram(), '3xx': histogram(), '4xx': histogram(), '5xx': histogram() };
}
