import { median } from '../median.ts';
import type { Machine } from '../results.ts';
import type { BacklogRun } from './backlog.ts';
import type { Comparison } from './compare.ts';
import type { LoadResult } from './load.ts';
import type { PayloadRun } from './payloads.ts';
import type { RestResult } from './rest.ts';
import type { SpreadRun } from './spread.ts';
import type { SubmitsRun } from './submits.ts';
import { renderTable } from './table.ts';
import type { WalRun } from './wal.ts';

/** The results of a run; parts that did not run are absent. Written as JSON. */
export interface QueueReport {
  startedAt: string;
  machine: Machine;
  systems?: Comparison[];
  backlog?: BacklogRun[];
  rest?: RestResult;
  wal?: WalRun[];
  payloads?: PayloadRun[];
  spread?: SpreadRun[];
  submits?: SubmitsRun[];
}

export function renderReport(report: QueueReport): string {
  const { cpus, node, fsyncMs } = report.machine;
  return [
    `${cpus}, Node.js ${node}, fdatasync ${fsyncMs.toFixed(2)} ms; medians of the rounds; 1 KiB payloads; the load generator runs on the same machine\n`,
    ...(report.systems ? [renderSystems(report.systems)] : []),
    ...(report.backlog ? [renderBacklog(report.backlog)] : []),
    ...(report.rest ? [renderRest(report.rest)] : []),
    ...(report.wal ? [renderWal(report.wal)] : []),
    ...(report.payloads ? [renderPayloads(report.payloads)] : []),
    ...(report.spread ? [renderSpread(report.spread)] : []),
    ...(report.submits ? [renderSubmits(report.submits)] : []),
  ].join('\n');
}

function renderSystems(systems: readonly Comparison[]): string {
  const header = ['100 jobs/s; then 128 submitters and 128 workers', ...systems.map((one) => one.system)];
  const row = (title: string, digits: number, pick: (round: Comparison['rounds'][number]) => number | undefined) => [
    title,
    ...systems.map((one) => number(median(one.rounds.map((round) => pick(round) ?? Number.NaN)), digits)),
  ];
  return renderTable([
    header,
    row('submit to dispatch, p50 ms', 2, (round) => round.paced.latenciesMs.handOver?.p50),
    row('submit to dispatch, p99 ms', 2, (round) => round.paced.latenciesMs.handOver?.p99),
    row('runsync round trip, p50 ms', 2, (round) => round.runsync.latenciesMs.runsync?.p50),
    row('runsync round trip, p99 ms', 2, (round) => round.runsync.latenciesMs.runsync?.p99),
    row('jobs/s', 0, (round) => round.saturated.finishedPerSecond),
    ...compareWithPodyard(systems),
    row('server CPU, us per job', 0, (round) => round.saturated.watched.server!.cpuUsPerJob),
    row('  in the kernel', 0, (round) => round.saturated.watched.server!.systemUsPerJob),
    row('database CPU, us per job', 0, (round) => round.saturated.watched.store!.cpuUsPerJob),
    row('load CPU, us per request', 1, (round) => round.saturated.loadCpuUsPerRequest),
    row('CPU used by others, %', 0, (round) => round.saturated.othersCpuShare * 100),
    row('the machine: hashing 4 MB, ms', 1, (round) => round.hashMs),
    row('server memory, MB', 0, (round) => round.saturated.watched.server!.rssMb),
    row('failed requests, lost or duplicate jobs', 0, (round) =>
      countFaults([round.paced, round.runsync, round.saturated]),
    ),
  ]);
}

/** Podyard's jobs/s as a ratio to each system's. */
function compareWithPodyard(systems: readonly Comparison[]): string[][] {
  const podyard = systems.find((one) => one.system === 'podyard');
  if (!podyard) return [];
  const jobs = (one: Comparison) => median(one.rounds.map((round) => round.saturated.finishedPerSecond));
  return [['  podyard compared with it', ...systems.map((one) => number(jobs(podyard) / jobs(one), 2))]];
}

function renderBacklog([empty, full]: readonly BacklogRun[]): string {
  if (!empty || !full) return '';
  const row = (title: string, digits: number, pick: (round: BacklogRun['rounds'][number]) => number) => {
    const [without, with_] = [empty, full].map((run) => median(run.rounds.map(pick)));
    return [title, number(without!, digits), number(with_!, digits), `${number((with_! / without! - 1) * 100, 1)} %`];
  };
  const plain = (title: string, pick: (run: BacklogRun) => number) => [
    title,
    number(pick(empty), 0),
    number(pick(full), 0),
    '',
  ];
  return renderTable([
    ['backlog', 'empty', `${full.jobs} queued`, 'change'],
    row('submits/s, only submits', 0, (round) => round.submit.submittedPerSecond),
    row('takes/s, only takes and results', 0, (round) => round.drain.finishedPerSecond),
    row('jobs/s, submits, takes and results', 0, (round) => round.saturated.finishedPerSecond),
    row('server CPU, us per job', 0, (round) => round.saturated.watched.server!.cpuUsPerJob),
    row('database CPU, us per job', 0, (round) => round.saturated.watched.store!.cpuUsPerJob),
    row('CPU used by others, %', 0, (round) => round.saturated.othersCpuShare * 100),
    plain('server memory after start, MB', (run) => run.rssMb.started),
    plain('server memory after all rounds, MB', (run) => run.rssMb.worked),
    plain('ready after, ms', (run) => run.readyMs),
    plain('failed requests, duplicate jobs', (run) => countFaults(run.rounds.flatMap((round) => Object.values(round)))),
  ]);
}

function renderRest(rest: RestResult): string {
  return renderTable([
    ['start and rest', 'podyard', 'bare node'],
    ['node src/main.ts to ready, ms', number(median(rest.nodeReadyMs), 0), number(median(rest.bare.readyMs), 0)],
    ['  CPU of the server, ms', number(median(rest.nodeReadyCpuMs), 0), number(median(rest.bare.readyCpuMs), 0)],
    ['  to the first answer of the API, ms', number(median(rest.nodeAnswerMs), 0), '-'],
    ['npm start to ready, ms', number(median(rest.npmReadyMs), 0), '-'],
    ['idle server CPU, % of a core', number(rest.idleServerPercent, 2), number(rest.bare.idlePercent, 2)],
    ['idle PostgreSQL CPU, % of a core', number(rest.idlePostgresPercent, 2), '-'],
    ['idle server memory, MB', number(rest.idleRssMb, 0), number(rest.bare.rssMb, 0)],
  ]);
}

function renderWal(runs: readonly WalRun[]): string {
  const row = (title: string, digits: number, pick: (run: WalRun) => number) => [
    title,
    ...runs.map((run) => number(pick(run), digits)),
  ];
  return renderTable([
    ["the database's log", ...runs.map(({ mode }) => (mode === 'paced' ? '100 jobs/s' : 'full speed'))],
    row('jobs', 0, (run) => run.jobs),
    row('bytes per job', 0, (run) => run.bytesPerJob),
    row('  pages logged whole, per job', 2, (run) => run.wholePagesPerJob),
    row('commits per job', 2, (run) => run.commitsPerJob),
    row('fsyncs per job', 2, (run) => run.fsyncsPerJob),
    row('connections of one process', 0, (run) => run.connections),
  ]);
}

function renderPayloads(runs: readonly PayloadRun[]): string {
  return renderTable([
    ['input and output, each', 'a job, ms', 'pglz', 'database CPU, ms', 'pglz', 'ratio', 'log, KB', 'pglz'],
    ...runs.map(({ kind, bytes, stored, pglz }) => [
      `${bytes} bytes, ${kind}`,
      number(stored.ms, 2),
      number(pglz.ms, 2),
      number(stored.cpuMs, 2),
      number(pglz.cpuMs, 2),
      number(stored.cpuMs / pglz.cpuMs, 2),
      number(stored.walKb, 0),
      number(pglz.walKb, 0),
    ]),
  ]);
}

/** The last rows are computed: what one core of each kind could do at most, were nothing else on it. */
function renderSpread(runs: readonly SpreadRun[]): string {
  const row = (title: string, digits: number, pick: (load: LoadResult) => number) => [
    title,
    ...runs.map(({ rounds }) => number(median(rounds.map(pick)), digits)),
  ];
  return renderTable([
    ['128 submitters; endpoints', ...runs.map(({ endpoints }) => String(endpoints))],
    ['workers', ...runs.map(({ workers }) => String(workers))],
    row('jobs/s', 0, (load) => load.finishedPerSecond),
    row('submit to dispatch, p50 ms', 1, (load) => load.latenciesMs.handOver?.p50 ?? Number.NaN),
    row('server CPU, us per job', 0, (load) => load.watched.server!.cpuUsPerJob),
    row('database CPU, us per job', 0, (load) => load.watched.store!.cpuUsPerJob),
    row('CPU used by others, %', 0, (load) => load.othersCpuShare * 100),
    ['failed requests, lost or duplicate jobs', ...runs.map(({ rounds }) => String(countFaults(rounds)))],
    row('jobs/s that a core of the database could carry', 0, (load) => 1e6 / load.watched.store!.cpuUsPerJob),
    row('jobs/s that a core of the servers could carry', 0, (load) => 1e6 / load.watched.server!.cpuUsPerJob),
  ]);
}

function renderSubmits(runs: readonly SubmitsRun[]): string {
  const row = (title: string, digits: number, pick: (run: SubmitsRun) => number) => [
    title,
    ...runs.map((run) => number(pick(run), digits)),
  ];
  return renderTable([
    ['jobs of 8 MB, all at once', ...runs.map((_, round) => `round ${round + 1}`)],
    row('accepted', 0, (run) => run.accepted),
    row('refused', 0, (run) => run.refused),
    row('MB/s', 0, (run) => run.mbPerSecond),
    row('the disk alone, MB/s', 0, (run) => run.diskMbPerSecond),
    row('ratio', 2, (run) => run.mbPerSecond / run.diskMbPerSecond),
    row('server CPU, ms per job', 1, (run) => run.serverCpuMs),
    row('database CPU, ms per job', 1, (run) => run.storeCpuMs),
    row('server memory, peak MB', 0, (run) => run.peakRssMb),
  ]);
}

/** Unfinished jobs count only where the load finishes all it submits from an empty queue. */
export function countFaults(results: readonly LoadResult[]): number {
  return results.reduce((sum, result) => sum + result.errors + result.takenTwice + (result.lost ?? 0), 0);
}

/** Formats with that many digits; a dash where nothing was measured. */
export function number(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}
