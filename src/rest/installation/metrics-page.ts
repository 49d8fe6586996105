import { createHash, timingSafeEqual } from 'node:crypto';
import { Exposition } from '../../core/exposition.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Histogram, Metrics } from '../../core/metrics.ts';
import type { Pool } from '../../db/pool.ts';
import { type InstallationFigures, readInstallationFigures } from '../../domain/metrics/installation-figures.ts';
import type { WorkerStatus } from '../../domain/workers/worker-status.ts';
import { type ProcessFigures, readProcessFigures } from './process-figures.ts';

/** A scrape must be answered, most of all when the database is not: it gets so long. */
const DATABASE_MS = 2_000;

const WORKER_STATES: readonly WorkerStatus[] = ['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'];

/** Processes that count for this one, too. */
export interface OtherProcesses {
  /** The name of this one among them. */
  ownName: string;
  /** Adds what they counted to the metrics of this process, and answers how they are, by their names. */
  collect(): Promise<Map<string, ProcessFigures>>;
}

/**
 * `/metrics`: what this process counted, and how the installation stands by the database, which is the same in whichever
 * process is asked. Requests that come at once share a look. docs/operations.md lists every family.
 */
export class MetricsPage {
  readonly #metrics: Metrics;
  readonly #pool: Pool;
  readonly #pools: Readonly<Record<string, Pool>>;
  readonly #tokenHash: Buffer | null;
  readonly #others: OtherProcesses | null;
  #underWay: Promise<string> | undefined;

  /** `pools`: by the name they shall have. `token`: what a scraper without a key sends; null: there is none. */
  constructor(options: {
    metrics: Metrics;
    pool: Pool;
    pools: Readonly<Record<string, Pool>>;
    token: string | null;
    others?: OtherProcesses | null;
  }) {
    this.#metrics = options.metrics;
    this.#pool = options.pool;
    this.#pools = options.pools;
    this.#tokenHash = options.token === null ? null : hash(options.token);
    this.#others = options.others ?? null;
  }

  /** Whether the header holds the operator's own token, which no user and no key stands behind. */
  isToken(authorization: string | undefined): boolean {
    const token = /^bearer +(\S+)$/i.exec(authorization?.trim() ?? '')?.[1];
    return token !== undefined && this.#tokenHash !== null && timingSafeEqual(hash(token), this.#tokenHash);
  }

  read(): Promise<string> {
    this.#underWay ??= this.#read().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #read(): Promise<string> {
    const processes = await this.#collect();
    const known = this.#metrics.endpointIds;
    const figures = await this.#askDatabase(known);
    if (figures) {
      const existing = new Set(figures.endpoints.map(({ id }) => id));
      this.#metrics.forgetEndpoints(known.filter((id) => !existing.has(id)));
    }
    const out = new Exposition();
    if (figures) this.#addInstallation(out, figures);
    this.#addJobs(out);
    this.#addRequests(out);
    out.gauge('podyard_database_up', 'Whether the database answered this scrape within 2 s.', [
      [{}, Number(figures !== null)],
    ]);
    addConnections(out, processes);
    out.histogram('podyard_event_loop_lag_seconds', 'How late timers come.', [[{}, this.#metrics.eventLoopLag]]);
    addProcesses(out, processes);
    return out.toString();
  }

  /** Alone a process needs no name. */
  async #collect(): Promise<LabelledFigures[]> {
    const own = readProcessFigures(this.#pools);
    if (this.#others === null) return [[{}, await own]];
    const { ownName } = this.#others;
    const others = [...(await this.#others.collect())].map(([name, figures]) => [{ process: name }, figures] as const);
    return [[{ process: ownName }, await own], ...others];
  }

  /** Null when it does not answer in time. */
  async #askDatabase(known: readonly EndpointId[]): Promise<InstallationFigures | null> {
    let timer: NodeJS.Timeout | undefined;
    const inTime = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, DATABASE_MS, null);
    });
    const asked = readInstallationFigures(this.#pool, known).catch(() => null);
    return Promise.race([asked, inTime]).finally(() => clearTimeout(timer));
  }

  #addInstallation(out: Exposition, { endpoints, workers, frozen, pods, webhooks }: InstallationFigures): void {
    const labelOf = (id: EndpointId) => this.#metrics.jobsOf(id).label;
    const queued = new Totals();
    const inProgress = new Totals();
    const oldest = new Map<string, number>();
    for (const { id, ...load } of endpoints) {
      const endpoint = labelOf(id);
      queued.add({ endpoint }, load.queued);
      inProgress.add({ endpoint }, load.inProgress);
      oldest.set(endpoint, Math.max(oldest.get(endpoint) ?? 0, load.oldestSeconds));
    }
    const states = new Totals();
    for (const { endpointId, status, count } of workers) {
      const endpoint = labelOf(endpointId);
      for (const state of WORKER_STATES) states.add({ endpoint, state }, state === status ? count : 0);
    }
    out.gauge('podyard_queue_jobs', 'Jobs that wait, or requests that are held for a worker.', queued);
    out.gauge('podyard_jobs_in_progress', 'Jobs that workers hold, or requests in flight.', inProgress);
    const ages = [...oldest].map(([endpoint, seconds]) => [{ endpoint }, seconds] as const);
    out.gauge('podyard_queue_oldest_seconds', 'How long the oldest of them has waited.', ages);
    out.gauge('podyard_workers', 'Live workers by state; frozen ones are not live.', states);
    out.gauge('podyard_frozen_workers', 'Frozen workers.', [[{}, frozen.count]]);
    out.gauge('podyard_frozen_memory_bytes', 'What frozen workers hold in memory.', [[{}, frozen.memoryBytes]]);
    const phases = pods.map(({ phase, count }) => [{ phase }, count] as const);
    out.gauge('podyard_pods', 'Pods by observed phase; terminated ones are not counted.', phases);
    out.gauge('podyard_webhooks_waiting', 'Webhooks that are not delivered yet.', [[{}, webhooks]]);
  }

  #addJobs(out: Exposition): void {
    const { jobs, coldStarts, thaws } = this.#metrics;
    const submitted = jobs.map(({ label, submitted: count }) => [{ endpoint: label }, count] as const);
    out.counter('podyard_jobs_submitted_total', 'Jobs that were accepted.', submitted);
    const ended = jobs.flatMap(({ label, ended: counts }) =>
      Object.entries(counts).map(([status, count]) => [{ endpoint: label, status }, count] as const),
    );
    out.counter('podyard_jobs_ended_total', 'Jobs that ended, by outcome.', ended);
    const waits = jobs.map(({ label, wait }) => [{ endpoint: label }, wait] as const);
    out.histogram('podyard_job_wait_seconds', 'Time in the queue; counted when a job ends.', waits);
    const executions = jobs.map(({ label, execution }) => [{ endpoint: label }, execution] as const);
    out.histogram('podyard_job_execution_seconds', 'Time with the worker; counted when a job ends.', executions);
    const stages = [...coldStarts].map(([stage, histogram]) => [{ stage }, histogram] as const);
    out.histogram('podyard_cold_start_stage_seconds', 'Stages of the starts of workers.', stages);
    out.histogram('podyard_thaw_seconds', 'How long frozen workers took to go on.', [[{}, thaws]]);
  }

  #addRequests(out: Exposition): void {
    const { proxy, routes } = this.#metrics;
    const classes = Object.entries(proxy).flatMap(([plane, byClass]) =>
      Object.entries(byClass).map(([status, histogram]) => [{ plane, class: status }, histogram] as const),
    );
    const help = 'Requests that were forwarded or refused, until the end of the answer; 1xx: until a tunnel closed.';
    out.histogram('podyard_proxy_request_seconds', help, classes);
    const counts: (readonly [Record<string, string>, number])[] = [];
    const durations: (readonly [Record<string, string>, Histogram])[] = [];
    for (const [api, byRoute] of Object.entries(routes)) {
      for (const [route, { answers, duration }] of byRoute) {
        for (const [status, count] of answers) counts.push([{ api, route, status: String(status) }, count]);
        durations.push([{ api, route }, duration]);
      }
    }
    out.counter('podyard_api_requests_total', 'Requests by interface, route and status.', counts);
    out.histogram('podyard_api_request_seconds', 'Until the end of the answer, held requests included.', durations);
  }
}

type LabelledFigures = readonly [labels: { process?: string }, figures: ProcessFigures];

function addConnections(out: Exposition, processes: readonly LabelledFigures[]): void {
  const pools = processes.flatMap(([labels, figures]) =>
    Object.entries(figures.pools).map(([pool, counts]) => [{ ...labels, pool }, counts] as const),
  );
  const connections = pools.flatMap(([labels, { busy, idle }]) => [
    [{ ...labels, state: 'busy' }, busy] as const,
    [{ ...labels, state: 'idle' }, idle] as const,
  ]);
  const sizes = pools.map(([labels, { max }]) => [labels, max] as const);
  const waiting = pools.map(([labels, counts]) => [labels, counts.waiting] as const);
  out.gauge('podyard_database_connections', 'Open connections to the database.', connections);
  out.gauge('podyard_database_connections_max', 'How many connections there may be.', sizes);
  out.gauge('podyard_database_waiting', 'Statements that wait for a connection.', waiting);
}

/** Of processes themselves, under the names that Prometheus' own libraries gave them. */
function addProcesses(out: Exposition, processes: readonly LabelledFigures[]): void {
  const each = (pick: (figures: ProcessFigures) => number) =>
    processes.map(([labels, figures]) => [labels, pick(figures)] as const);
  const files = processes.flatMap(([labels, { openFiles }]) =>
    openFiles === null ? [] : [[labels, openFiles] as const],
  );
  out.counter(
    'process_cpu_seconds_total',
    'User and system time.',
    each(({ cpuSeconds }) => cpuSeconds),
  );
  out.gauge(
    'process_resident_memory_bytes',
    'Memory of the process.',
    each(({ residentBytes }) => residentBytes),
  );
  const started = 'When the process started, since 1970.';
  out.gauge(
    'process_start_time_seconds',
    started,
    each(({ startedAtSeconds }) => startedAtSeconds),
  );
  out.gauge('process_open_fds', 'Open file descriptors.', files);
  out.gauge(
    'nodejs_heap_size_used_bytes',
    'Heap in use.',
    each(({ heapUsedBytes }) => heapUsedBytes),
  );
  out.gauge(
    'nodejs_heap_size_total_bytes',
    'Heap, free parts included.',
    each(({ heapTotalBytes }) => heapTotalBytes),
  );
  out.gauge(
    'nodejs_external_memory_bytes',
    'Memory of buffers and the like.',
    each(({ externalBytes }) => externalBytes),
  );
}

/** Sums by labels: endpoints without a name of their own fall together. */
class Totals implements Iterable<readonly [Record<string, string>, number]> {
  readonly #sums = new Map<string, [Record<string, string>, number]>();

  add(labels: Record<string, string>, value: number): void {
    const key = Object.values(labels).join('\n');
    const known = this.#sums.get(key);
    if (known) known[1] += value;
    else this.#sums.set(key, [labels, value]);
  }

  [Symbol.iterator](): Iterator<readonly [Record<string, string>, number]> {
    return this.#sums.values();
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
