import { createHash, timingSafeEqual } from 'node:crypto';
import { systemClock } from '../../core/clock.ts';
import type { EndpointId } from '../../core/ids.ts';
import { type Metrics, OTHER_ENDPOINTS } from '../../core/metrics.ts';
import type { Histogram } from '../../core/summable.ts';
import type { Pool } from '../../db/pool.ts';
import { ENDPOINT_STATES } from '../../domain/endpoints/endpoint-state.ts';
import { type InstallationFigures, readInstallationFigures } from '../../domain/metrics/installation-figures.ts';
import type { WorkerStatus } from '../../domain/workers/worker-status.ts';
import { Exposition } from './exposition.ts';
import { type ProcessFigures, readProcessFigures } from './process-figures.ts';

/** Limit of the database queries of a scrape, which must succeed even when the database is down. */
const DATABASE_MS = 2_000;

const WORKER_STATES: readonly WorkerStatus[] = ['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'];

/** Other processes whose metrics this one reports. */
export interface OtherProcesses {
  /** This process's name among them. */
  ownName: string;
  /** Adds their counters to this process's metrics. Resolves with their own figures, by process name. */
  collect(): Promise<Map<string, ProcessFigures>>;
}

interface MetricsPageDeps {
  metrics: Metrics;
  pool: Pool;
  /** Connection pools to report, by their name in the metrics. */
  pools: Readonly<Record<string, Pool>>;
  /** Absent or null: this process is the only one. */
  others?: OtherProcesses | null;
}

/**
 * `/metrics`: this process's counters, and the installation's figures from the database, which are the same in every
 * process. Concurrent scrapes share one read. docs/operations.md lists every family.
 */
export class MetricsPage {
  readonly #deps: MetricsPageDeps;
  readonly #tokenHash: Buffer | null;
  #reading: Promise<string> | undefined;

  /** `token` is what a scraper without a key sends; null: none. */
  constructor({ token, ...deps }: MetricsPageDeps & { token: string | null }) {
    this.#deps = deps;
    this.#tokenHash = token === null ? null : hash(token);
  }

  /** True if the header has the scraper's token, which belongs to no user. */
  isToken(authorization: string | undefined): boolean {
    const token = /^bearer +(\S+)$/i.exec(authorization?.trim() ?? '')?.[1];
    return token !== undefined && this.#tokenHash !== null && timingSafeEqual(hash(token), this.#tokenHash);
  }

  read(): Promise<string> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<string> {
    const processes = await this.#collect();
    const { labelled } = this.#deps.metrics.jobs;
    const known = [...labelled.keys()];
    const figures = await this.#askDatabase(known);
    if (figures) {
      const existing = new Set(figures.endpoints.map(({ id }) => id));
      for (const id of known) if (!existing.has(id)) labelled.delete(id);
    }
    const out = new Exposition();
    if (figures) this.#addInstallation(out, figures);
    this.#addJobs(out);
    this.#addRequests(out);
    out.gauge('podyard_database_up', 'Whether the database answered this scrape within 2 s.', [
      [{}, Number(figures !== null)],
    ]);
    addConnections(out, processes);
    out.histogram('podyard_event_loop_lag_seconds', 'Delay of timers.', [[{}, this.#deps.metrics.eventLoopLag]]);
    out.counter('podyard_fallback_writes_total', 'Writes to connections that took the slower way.', [
      [{}, this.#deps.metrics.fallbackWrites.value],
    ]);
    const { models, notices } = this.#deps.metrics;
    const { fetchedBytes, evicted } = models;
    const outcomes = ['sent', 'failed'] as const;
    out.counter(
      'podyard_notice_messages_total',
      'Tries to send notices, by outcome.',
      outcomes.map((outcome) => [{ outcome }, notices.get(outcome) ?? 0]),
    );
    out.counter('podyard_models_fetched_bytes_total', 'Bytes of models that came from their origins.', [
      [{}, fetchedBytes.value],
    ]);
    out.counter('podyard_models_evicted_total', 'Models that left to make room.', [[{}, evicted.value]]);
    this.#addHub(out);
    addProcesses(out, processes);
    return out.toString();
  }

  #addHub(out: Exposition): void {
    const { fetchedBytes, servedBytes, hits, misses, evicted } = this.#deps.metrics.hub;
    out.counter('podyard_hub_fetched_bytes_total', 'Bytes of files that the pull-through hub fetched from the hub.', [
      [{}, fetchedBytes.value],
    ]);
    out.counter('podyard_hub_served_bytes_total', 'Bytes that workloads got from the pull-through hub.', [
      [{}, servedBytes.value],
    ]);
    out.counter('podyard_hub_files_total', 'Files that workloads got from the pull-through hub.', [
      [{ stored: 'true' }, hits.value],
      [{ stored: 'false' }, misses.value],
    ]);
    out.counter('podyard_hub_evicted_total', 'Files that left the pull-through hub to make room.', [
      [{}, evicted.value],
    ]);
  }

  /** A single process gets no `process` label. */
  async #collect(): Promise<LabelledFigures[]> {
    const { pools, others: siblings } = this.#deps;
    const own = readProcessFigures(pools);
    if (!siblings) return [[{}, await own]];
    const { ownName } = siblings;
    const others = [...(await siblings.collect())].map(([name, figures]) => [{ process: name }, figures] as const);
    return [[{ process: ownName }, await own], ...others];
  }

  /** Resolves with null on timeout. */
  async #askDatabase(known: readonly EndpointId[]): Promise<InstallationFigures | null> {
    let timer: NodeJS.Timeout | undefined;
    const inTime = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, DATABASE_MS, null);
    });
    const asked = readInstallationFigures(this.#deps.pool, known, systemClock.now()).catch(() => null);
    return Promise.race([asked, inTime]).finally(() => clearTimeout(timer));
  }

  #addInstallation(
    out: Exposition,
    { endpoints, workers, states: endpointStates, frozen, pods, webhooks, modelBytes }: InstallationFigures,
  ): void {
    const labelOf = (id: EndpointId) => this.#deps.metrics.jobsOf(id).label;
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
    out.gauge('podyard_queue_jobs', 'Queued jobs, or requests held for a worker.', queued);
    out.gauge('podyard_jobs_in_progress', 'Jobs held by workers, or requests in flight.', inProgress);
    const ages = [...oldest].map(([endpoint, seconds]) => [{ endpoint }, seconds] as const);
    out.gauge('podyard_queue_oldest_seconds', 'Age of the oldest queued job or held request.', ages);
    out.gauge('podyard_workers', 'Live workers by state, without frozen ones.', states);
    this.#addEndpointStates(out, endpointStates);
    out.gauge('podyard_frozen_workers', 'Frozen workers.', [[{}, frozen.count]]);
    out.gauge('podyard_frozen_memory_bytes', 'Memory held by frozen workers.', [[{}, frozen.memoryBytes]]);
    const phases = pods.map(({ phase, count }) => [{ phase }, count] as const);
    out.gauge('podyard_pods', 'Pods by observed phase, without terminated ones.', phases);
    out.gauge('podyard_webhooks_waiting', 'Undelivered webhooks.', [[{}, webhooks]]);
    out.gauge('podyard_models_bytes', 'Size of stored models.', [[{}, modelBytes]]);
  }

  /** Only of endpoints that have a label already: idle ones must not take the labels of those with work. */
  #addEndpointStates(out: Exposition, states: InstallationFigures['states']): void {
    const { metrics } = this.#deps;
    const { labelled } = metrics.jobs;
    const totals = new Totals();
    for (const { endpointId, state: current } of states) {
      const endpoint = labelled.has(endpointId) ? endpointId : OTHER_ENDPOINTS;
      for (const state of ENDPOINT_STATES) totals.add({ endpoint, state }, state === current ? 1 : 0);
    }
    out.gauge('podyard_endpoint_state', 'Endpoints by state: 1 for the current one, or a count of the others.', totals);
  }

  #addJobs(out: Exposition): void {
    const { coldStarts, thaws } = this.#deps.metrics;
    const jobs = this.#deps.metrics.jobs.all;
    const submitted = jobs.map(({ label, submitted: count }) => [{ endpoint: label }, count] as const);
    out.counter('podyard_jobs_submitted_total', 'Accepted jobs.', submitted);
    const ended = jobs.flatMap(({ label, ended: counts }) =>
      Object.entries(counts).map(([status, count]) => [{ endpoint: label, status }, count] as const),
    );
    out.counter('podyard_jobs_ended_total', 'Ended jobs by outcome.', ended);
    const waits = jobs.map(({ label, wait }) => [{ endpoint: label }, wait] as const);
    out.histogram('podyard_job_wait_seconds', 'Time in the queue; counted when a job ends.', waits);
    const executions = jobs.map(({ label, execution }) => [{ endpoint: label }, execution] as const);
    out.histogram('podyard_job_execution_seconds', 'Time with the worker; counted when a job ends.', executions);
    const stages = [...coldStarts].map(([stage, histogram]) => [{ stage }, histogram] as const);
    out.histogram('podyard_cold_start_stage_seconds', 'Duration of the stages of worker starts.', stages);
    out.histogram('podyard_thaw_seconds', 'Time to thaw frozen workers.', [[{}, thaws]]);
  }

  #addRequests(out: Exposition): void {
    const { proxy, routes } = this.#deps.metrics;
    const classes = Object.entries(proxy).flatMap(([plane, byClass]) =>
      Object.entries(byClass).map(([status, histogram]) => [{ plane, class: status }, histogram] as const),
    );
    const help = 'Forwarded or refused requests, until the end of the response; 1xx: until the tunnel closed.';
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
    out.histogram(
      'podyard_api_request_seconds',
      'Time until the end of the response, including held requests.',
      durations,
    );
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
  out.gauge('podyard_database_connections_max', 'Maximum number of connections.', sizes);
  out.gauge('podyard_database_waiting', 'Statements waiting for a connection.', waiting);
}

/** Process metrics, under the standard names of Prometheus client libraries. */
function addProcesses(out: Exposition, processes: readonly LabelledFigures[]): void {
  const each = (pick: (figures: ProcessFigures) => number) =>
    processes.map(([labels, figures]) => [labels, pick(figures)] as const);
  const files = processes.flatMap(([labels, { openFiles }]) =>
    openFiles === null ? [] : [[labels, openFiles] as const],
  );
  out.counter(
    'process_cpu_seconds_total',
    'User and system CPU time.',
    each(({ cpuSeconds }) => cpuSeconds),
  );
  out.gauge(
    'process_resident_memory_bytes',
    'Resident memory.',
    each(({ residentBytes }) => residentBytes),
  );
  const started = 'Start time since the Unix epoch.';
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
    'Total heap.',
    each(({ heapTotalBytes }) => heapTotalBytes),
  );
  out.gauge(
    'nodejs_external_memory_bytes',
    'Memory outside the heap, such as buffers.',
    each(({ externalBytes }) => externalBytes),
  );
}

/** Sums by labels: endpoints without their own series share one. */
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
